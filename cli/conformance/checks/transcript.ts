import { shown, type Answer } from '../api.ts';
import { demand, NotChecked, type Check, type Kit } from '../check.ts';

const WHY = 'Workers on other machines read transcripts by it; those on the same machine do not need it.';

/** `GET /sessions/{id}/transcript`, which is optional. */
export const TRANSCRIPT_CHECKS: readonly Check[] = [
  {
    id: 'transcript-tail',
    title: 'bytes=-n gives the last n bytes as 206 with Content-Range',
    consequence: `${WHY} Without ranges they give up on any transcript over 1 MB.`,
    async run(kit) {
      const { answer } = await tail(kit, 64);
      demand(answer.status === 206, `it was answered ${answer.status}`);
      const { from, to, size } = rangeOf(answer);
      demand(
        to === size - 1 && to - from + 1 === answer.text.length,
        `Content-Range does not fit its ${answer.text.length} bytes`,
      );
    },
  },
  {
    id: 'transcript-part',
    title: 'bytes=a-b gives exactly these bytes',
    consequence: `${WHY} A verdict from other bytes than those asked for would be wrong.`,
    async run(kit) {
      const { id, answer } = await tail(kit, 64);
      if (answer.status !== 206) throw new NotChecked('ranges are not served');
      const { from, to } = rangeOf(answer);
      const part = await kit.api.transcript(id, `bytes=${from + 8}-${to - 8}`);
      demand(part.status === 206, `it was answered ${part.status}`);
      demand(part.text === answer.text.slice(8, -8), 'the bytes are others than those at the end');
    },
  },
  {
    id: 'transcript-outside',
    title: 'A range outside of the file is 416 with its size',
    consequence: `${WHY} A file that has shrunk is not recognised as such.`,
    async run(kit) {
      const { id, answer } = await tail(kit, 64);
      if (answer.status !== 206) throw new NotChecked('ranges are not served');
      const outside = await kit.api.transcript(id, `bytes=${rangeOf(answer).size + 1_000_000}-`);
      demand(outside.status === 416, `it was answered ${outside.status}`);
      const header = outside.headers.get('content-range') ?? '';
      demand(/^bytes \*\/\d+$/.test(header), `Content-Range is ${JSON.stringify(header)}`);
    },
  },
];

async function tail({ api, stage }: Kit, length: number): Promise<{ id: string; answer: Answer }> {
  const id = await stage.make('idle');
  const answer = await api.transcript(id, `bytes=-${length}`);
  if ([404, 405, 501].includes(answer.status)) throw new NotChecked(`not offered: ${shown(answer)}`);
  return { id, answer };
}

function rangeOf(answer: Answer): { from: number; to: number; size: number } {
  const header = answer.headers.get('content-range') ?? '';
  const [, from, to, size] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header) ?? [];
  demand(size !== undefined, `Content-Range is ${JSON.stringify(header)}`);
  return { from: Number(from), to: Number(to), size: Number(size) };
}

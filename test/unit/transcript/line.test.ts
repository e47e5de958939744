import { describe, expect, test } from 'vitest';
import { headOf } from '#shared/transcript/head.js';
import { type ParsedLine, parseLine } from '#shared/transcript/line.js';
import { OTHER_SESSION, SESSION, chat, payload } from '../../support/chat-lines.ts';

const read = (text: string | Buffer): ParsedLine =>
  parseLine(Buffer.from(text), 100, { sessionId: SESSION, senderLabels: [] });
const kinds = (text: string | Buffer): string[] => read(text).entries.map(({ kind }) => kind);
const head = (text: string): string => headOf(Buffer.from(text)).kind;

/** Records as the runtime begins them. */
const KILL = `{"type":"queue-operation",${(chat().kill().lines[0] ?? '').slice(1)}`;
const REPLY = `{"parentUuid":null,${(chat().reply().lines[0] ?? '').slice(1)}`;

describe('the look at a line’s bytes', () => {
  test.each([
    ['bookkeeping', '{"type":"last-prompt","lastPrompt":"x"}'],
    ['its type behind plain fields', '{"parentUuid":null,"n":-1.5e3,"ok":true,"type":"cost-state"}'],
    ['spaces anywhere', '{ "uuid" : "u" , "type" : "mode" }'],
    [
      'an attachment of no interest',
      '{"isSidechain":false,"attachment":{"type":"date","date":"x"},"type":"attachment"}',
    ],
    ['the type first, then the attachment', '{"type":"attachment","attachment":{"n":1,"type":"hook_success"}}'],
    ['a system entry of no interest', '{"type":"system","subtype":"turn_duration","x":{}}'],
    ['a side chain', '{"isSidechain":true,"type":"assistant","message":{}}'],
    ['quotes and backslashes in strings', String.raw`{"lastPrompt":"a \"type\":\"user\" \\","type":"last-prompt"}`],
  ])('passes over %s', (_, line) => expect(head(line)).toBe('inert'));

  test.each([
    ['what may decide', '{"type":"user"}'],
    ['the type behind an object', '{"message":{"content":"x"},"type":"user"}'],
    ['the type behind a list', '{"list":[1],"type":"queue-operation"}'],
    ['a queued command', '{"attachment":{"prompt":"x","type":"queued_command"},"type":"attachment"}'],
    ['an attachment whose type is behind an object', '{"attachment":{"origin":{},"type":"queued_command"}}'],
    ['an API retry', '{"type":"system","subtype":"api_error"}'],
    ['a compaction', '{"subtype":"compact_boundary","type":"system"}'],
    ['a key with an escape', String.raw`{"ty\u0070e":"user"}`],
    ['no pair at all', '{}'],
    ['a string that does not end', '{"type":"us'],
  ])('lets through %s', (_, line) => expect(head(line)).toBe('candidate'));

  test.each(['null', '[1]', '"text"', 'words', '{"type":"last-prompt","x":"y'])('%s is malformed', (line) =>
    expect(head(line)).toBe('malformed'),
  );
});

describe('a line that may decide', () => {
  test('is read whatever the order and spacing of its fields', () => {
    const { content, ...rest } = JSON.parse(KILL) as Record<string, unknown>;
    expect(kinds(JSON.stringify({ nested: { a: 1 }, content, ...rest }))).toEqual(['notification']);
    expect(kinds(JSON.stringify(JSON.parse(KILL), null, 1).replaceAll('\n', ' '))).toEqual(['notification']);
    expect(kinds(`\uFEFF  ${KILL}\r`)).toEqual(['notification']);
  });

  test('is nothing where it belongs to another session, whatever its case', () => {
    expect(kinds(KILL.replace(SESSION, OTHER_SESSION))).toEqual([]);
    expect(kinds(KILL.replace(SESSION, SESSION.toUpperCase()))).toEqual(['notification']);
    expect(kinds(KILL.replace(`"${SESSION}"`, '7'))).toEqual([]);
    expect(kinds(KILL.replace(`"sessionId":"${SESSION}",`, ''))).toEqual(['notification']);
  });

  test('keeps its place in the file', () => {
    expect(read(`   ${KILL}`).entries[0]).toMatchObject({ offset: 103, type: 'queue-operation/enqueue' });
  });
});

describe('broken lines', () => {
  test.each([
    ['blank', ''],
    ['white space', '  \t\r'],
    ['NUL bytes', '\0'.repeat(64)],
    ['words', 'not json at all'],
    ['a list', '[1,2]'],
    ['null', 'null'],
    ['a text', '"text"'],
    ['torn', '{"type":"user","message":{"content":"half'],
  ])('%s: skipped and counted', (_, line) => expect(read(line)).toEqual({ entries: [], skipped: true }));

  test.each([
    ['half a bookkeeping record', `{"type":"last-prompt","lastPrompt":"ab${KILL}`],
    ['half a reply', `${REPLY.slice(0, 90)}${KILL}`],
    ['NUL bytes', `${'\0'.repeat(32)}${KILL}`],
    ['a whole record of no interest', `{"type":"mode","mode":"x"}${KILL}`],
  ])('a record behind %s is recovered', (_, line) => {
    const { entries, skipped } = read(line);
    expect(entries.map(({ kind }) => kind)).toEqual(['notification']);
    expect(entries[0]?.offset).toBe(100 + line.length - KILL.length);
    expect(skipped).toBe(true);
  });

  test('two whole records in one line both count, in their order; so does one before half a record', () => {
    expect(kinds(`${REPLY}${KILL}`)).toEqual(['reply', 'notification']);
    expect(kinds(`${REPLY}${'\0'.repeat(9)}${KILL}`)).toEqual(['reply', 'notification']);
    expect(kinds(`${KILL}{"type":"user","mess`)).toEqual(['notification']);
  });

  test('two that are torn, neither of which could decide, are passed over', () => {
    expect(kinds('{"type":"last-prompt","sessionId":"a0{"type":"summary","summary":"x"}')).toEqual([]);
  });

  test('an object from inside a torn record is no record', () => {
    const inner = JSON.stringify({ type: 'queue-operation', operation: 'enqueue', content: payload() });
    expect(kinds(`{"type":"progress","data":${inner}`)).toEqual([]);
  });

  test('wrongly encoded bytes are counted, and what the line says still counts', () => {
    const [before = '', after = ''] = chat().kill({ summary: '@@' }).lines[0]?.split('@@') ?? [];
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xc3]), Buffer.from(after)]);
    expect(read(bytes)).toMatchObject({ skipped: true, entries: [{ kind: 'notification' }] });
  });
});

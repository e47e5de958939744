/** What the SDK wants to hear about a tool that needs leave. */
export type PermissionAnswer =
  | { behavior: 'allow'; updatedInput: Record<string, unknown> }
  | { behavior: 'deny'; message: string };

interface Question {
  input: Record<string, unknown>;
  resolve: (answer: PermissionAnswer) => void;
}

/** Questions for leave that wait for the chat's user. */
export class PermissionDesk {
  readonly #tell: (asking: boolean) => void;
  readonly #open = new Set<Question>();

  /** @param tell called when the first question opens and when the last one is settled. */
  constructor(tell: (asking: boolean) => void) {
    this.#tell = tell;
  }

  /** For `canUseTool`: settles with the user's answer, or as denied once the runtime gives up waiting. */
  ask(input: Record<string, unknown>, signal: AbortSignal): Promise<PermissionAnswer> {
    return new Promise((resolve) => {
      const question = { input, resolve };
      this.#open.add(question);
      signal.addEventListener('abort', () => this.#settle(question, { behavior: 'deny', message: 'Interrupted.' }));
      if (this.#open.size === 1) this.#tell(true);
    });
  }

  /** The user's word on everything that is open: yes, or no with what they said. */
  answer(text: string): void {
    for (const question of this.#open) {
      const { input } = question;
      const yes = YES.test(text);
      this.#settle(question, yes ? { behavior: 'allow', updatedInput: input } : { behavior: 'deny', message: text });
    }
  }

  #settle(question: Question, answer: PermissionAnswer): void {
    if (!this.#open.delete(question)) return;
    if (this.#open.size === 0) this.#tell(false);
    question.resolve(answer);
  }
}

const YES = /^\s*(y|yes|ok|allow|go)\b/i;

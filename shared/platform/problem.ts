/** An error that a caller may see as an RFC 9457 problem document. */
export interface ProblemFields {
  /** HTTP status. */
  status: number;
  /** Stable machine code, e.g. `session_owned_by_other_server`; also the last part of `type`. */
  code: string;
  /** One sentence for a person; names the field or the part that is wrong. */
  detail: string;
  /** The field at fault, as a JSON path, where there is one. */
  field?: string;
  /** More members of the document (e.g. `reason`). */
  extra?: Record<string, unknown>;
  /** Seconds for `Retry-After`. */
  retryAfterS?: number;
}

/** Thrown by routes and what they call; the error handler turns it into `application/problem+json`. */
export class Problem extends Error {
  readonly fields: ProblemFields;

  constructor(fields: ProblemFields) {
    super(`${fields.code}: ${fields.detail}`);
    this.name = 'Problem';
    this.fields = fields;
  }

  /** The document's body. */
  toJSON(): Record<string, unknown> {
    const { status, code, detail, field, extra } = this.fields;
    return {
      type: `https://chat-recovery.dev/problems/${code}`,
      title: code.replaceAll('_', ' '),
      status,
      code,
      detail,
      ...(field === undefined ? {} : { field }),
      ...extra,
    };
  }
}

/** Where deliveries go. */
export interface WebhookTarget {
  /** The watcher's `/v1/events`. */
  url: string;
  /** `whsec_` and base64, or plain text; without one nothing is signed (a watcher on loopback without secrets takes that). */
  secret?: string | undefined;
}

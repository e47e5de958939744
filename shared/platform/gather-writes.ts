import type { Redis } from 'ioredis';

/**
 * Commands of one turn of the event loop leave in one write.
 *
 * A write is a call to the system, and each wakes the server: with some 50 deliveries at once, one write for each was an eighth of
 * what a delivery cost the watcher and a quarter of what it cost Redis. ioredis' own way (automatic pipelines) keeps at most
 * one batch under way, so that one slow answer would hold up all others; this changes nothing but the moment of writing.
 */
export function gatherWrites(client: Redis): void {
  client.on('connect', () => {
    const { stream } = client;
    const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
    let isGathering = false;
    const flush = (): void => {
      isGathering = false;
      stream.uncork();
    };
    const gather = (...args: unknown[]): boolean => {
      if (!isGathering) {
        isGathering = true;
        stream.cork();
        setImmediate(flush);
      }
      return write(...args);
    };
    stream.write = gather;
  });
}

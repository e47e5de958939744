import type { Telemetry } from 'bullmq';

/** What spans say they come from. */
const TRACER = 'chat-recovery';

/**
 * Traces of jobs, from the add to the end of their processing, through the OpenTelemetry API (`bullmq-otel`). Spans go wherever the SDK
 * sends them that the operator loads beside us (`node --import …`); without one they go nowhere.
 *
 * `undefined` where traces are off: nothing is loaded then. Rejects with a sentence where the optional package is not installed.
 */
export async function loadTelemetry({ traces }: { traces: boolean }): Promise<Telemetry | undefined> {
  if (!traces) return undefined;
  try {
    const { BullMQOtel } = await import('bullmq-otel');
    return new BullMQOtel({ tracerName: TRACER });
  } catch (error) {
    throw new Error('OTEL_TRACES is on, but bullmq-otel is not installed: npm install bullmq-otel@2.0.1.', {
      cause: error,
    });
  }
}

import { SessionApiFailure, type SessionDriver } from './driver.ts';

const refuse = async (): Promise<never> => {
  throw new SessionApiFailure({
    class: 'refused',
    code: 'no_session_api',
    message: 'This chat server has no session API (driver "none").',
    mayHaveArrived: false,
  });
};

/**
 * Driver for a chat server without a session API: killed tasks are shown, nothing is ever sent. Ask `canSend` first; the
 * calls themselves refuse for good (`no_session_api`), so that nobody mistakes "unknown" for "gone".
 */
export function createNoneDriver(): SessionDriver {
  return {
    idempotent: false,
    canSend: false,
    state: refuse,
    send: refuse,
    probe: async () => undefined,
    close: async () => undefined,
  };
}

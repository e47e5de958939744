import { SessionApiFailure } from './driver.ts';

/** Failures that drivers make themselves, each with what it means for the attempt. */
export const busy = (code: string, message: string): SessionApiFailure =>
  new SessionApiFailure({ class: 'busy', code, message, mayHaveArrived: false });

/** A second process would write false notices into the session (SPEC §4): later, when the first has ended. */
export const processAlive = (message: string): SessionApiFailure => busy('process_alive', message);

/** Definite: nothing was sent, and trying again changes nothing by itself. */
export const refused = (code: string, message: string): SessionApiFailure =>
  new SessionApiFailure({ class: 'refused', code, message, mayHaveArrived: false });

/** Not known, and to be asked again. */
export const unclear = (message: string): SessionApiFailure =>
  new SessionApiFailure({ class: 'transient', code: 'status_unclear', message, mayHaveArrived: false });

/** It may have been said: never again. */
export const unknownOutcome = (code: string, message: string): SessionApiFailure =>
  new SessionApiFailure({ class: 'transient', code, message, mayHaveArrived: true });

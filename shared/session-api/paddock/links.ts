import type { DriverLog } from '../log.ts';
import { PaddockLink } from './link.ts';

/** The links of one process: whoever needs the same Paddock gets the same connection. */
export interface PaddockLinks {
  /** Throws a `TypeError` for an address that is none. */
  to(url: string, token: string | undefined): PaddockLink;
}

export function createPaddockLinks(log: DriverLog): PaddockLinks {
  const links = new Map<string, PaddockLink>();
  return {
    to(url, token) {
      const key = `${url} ${token ?? ''}`;
      const link = links.get(key) ?? new PaddockLink({ url, token, log });
      links.set(key, link);
      return link;
    },
  };
}

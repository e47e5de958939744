/** Work that is to be tried again after 1, 2, 4 … s, and no less often than every 30 s. */
export interface Owed<T, Why> {
  /** Owes `item` once more, a step later than before. */
  add(item: T, why: Why): void;
  /** It went through, or is no longer wanted. */
  settle(item: T): void;
  has(item: T): boolean;
  size(): number;
  /** What is due now; each is put off, so that it is not handed out again before this try has come to its end. */
  takeDue(): { item: T; why: Why }[];
  /** Everything is due at once. */
  hurry(): void;
}

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;
/** Ticks come about once a second; what is due within this is due now. */
const EARLY_MS = 50;

/** @param now monotonic milliseconds */
export function createOwed<T, Why>(now: () => number = () => performance.now()): Owed<T, Why> {
  const owed = new Map<T, { atMs: number; tries: number; why: Why }>();
  return {
    add(item, why) {
      const tries = (owed.get(item)?.tries ?? 0) + 1;
      owed.set(item, { atMs: now() + Math.min(FIRST_MS * 2 ** (tries - 1), LONGEST_MS) - EARLY_MS, tries, why });
    },
    settle: (item) => void owed.delete(item),
    has: (item) => owed.has(item),
    size: () => owed.size,
    takeDue() {
      const due = [...owed].filter(([, entry]) => entry.atMs <= now());
      for (const [, entry] of due) entry.atMs = now() + LONGEST_MS;
      return due.map(([item, { why }]) => ({ item, why }));
    },
    hurry() {
      for (const entry of owed.values()) entry.atMs = 0;
    },
  };
}

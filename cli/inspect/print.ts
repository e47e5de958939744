let guarded = false;

/** Prints a line to standard output. A reader that has seen enough (`| head`) is no failure: the program then ends quietly. */
export const print = (line: string): void => {
  if (!guarded) process.stdout.on('error', onError);
  guarded = true;
  process.stdout.write(`${line}\n`);
};

const onError = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
};

import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** Where Debian, Fedora, Alpine and snap have it; `CHROMIUM_PATH` goes before. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/snap/bin/chromium'];
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts this machine's Chromium with a new, empty profile. Throws a sentence where there is none; it downloads nothing. */
export async function launchChromium(env: NodeJS.ProcessEnv): Promise<Browser> {
  const path = [env['CHROMIUM_PATH'], ...PLACES].find((place) => place !== undefined && existsSync(place));
  if (path === undefined) {
    throw new Error('No Chromium is here. Install one (apt-get install chromium) or name it with CHROMIUM_PATH.');
  }
  return chromium.launch({ executablePath: path, args: ARGUMENTS, headless: true });
}

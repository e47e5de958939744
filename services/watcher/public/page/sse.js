/**
 * Takes the text of an event stream as it comes, in pieces cut anywhere, and gives whole events. Pure.
 *
 * @returns {(piece: string) => { id: string, event: string, data: string }[]}
 */
export function eventParser() {
  let rest = '';
  return (piece) => {
    const frames = (rest + piece).replaceAll('\r\n', '\n').split('\n\n');
    rest = frames.pop() ?? '';
    return frames.map(parseFrame).filter(({ data }) => data !== '');
  };
}

/** @param {string} frame */
function parseFrame(frame) {
  const found = { id: '', event: 'message', data: '' };
  for (const line of frame.split('\n')) {
    const colon = line.indexOf(':');
    const value = line.slice(colon + 1).replace(/^ /, '');
    const name = line.slice(0, Math.max(colon, 0));
    if (name === 'data') found.data += found.data === '' ? value : `\n${value}`;
    else if (name === 'id' || name === 'event') found[name] = value;
  }
  return found;
}

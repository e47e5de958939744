export const LOGIN_STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: Canvas; color: CanvasText; }
main { width: min(22rem, calc(100vw - 3rem)); }
h1 { font-size: 1.25rem; }
label { display: block; font-weight: 600; }
input, button { font: inherit; box-sizing: border-box; width: 100%; padding: 0.6rem; border-radius: 0.4rem; }
input { margin: 0.3rem 0 1rem; border: 1px solid GrayText; background: Field; color: FieldText; }
button { border: 0; background: #1f4fd8; color: #fff; cursor: pointer; }
button:focus-visible, input:focus-visible { outline: 3px solid #e0a100; outline-offset: 2px; }
.wrong { padding: 0.6rem; border-radius: 0.4rem; background: #b3261e; color: #fff; }
`;

/** The login form. The path that leads on is the only thing in it that comes from outside, and it is escaped. */
export function loginPage({ next, wrong }: { next: string; wrong: boolean }): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Log in · Chat recovery</title>
    <style>${LOGIN_STYLE}</style>
  </head>
  <body>
    <main>
      <h1>Chat recovery</h1>
      ${wrong ? '<p class="wrong" role="alert">That is not the admin token.</p>' : ''}
      <form method="post">
        <input type="hidden" name="next" value="${escaped(next)}" />
        <label for="token">Admin token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required autofocus ${wrong ? 'aria-invalid="true"' : ''} />
        <button type="submit">Log in</button>
      </form>
    </main>
  </body>
</html>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

import express, { Router, type Request } from 'express';
import { Problem } from '#shared/platform/problem.js';
import { projectSlugSchema } from '#shared/session/events.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { onlyMethods } from '../problems.ts';
import type { WatcherCore } from '../ports.ts';

/** The project's own `recovery:` block: read, changed, cleared. What takes effect is published when the settings tell of it. */
export function projectRoutes({ recovery, settings }: Pick<WatcherCore, 'recovery' | 'settings'>): Router {
  const router = Router();
  router
    .route('/v1/projects/:slug/recovery')
    .get(async (req, res) => {
      const { server, slug } = addressed(req, settings.chatServers);
      const { exists, override } = await recovery.override(server, slug);
      const effective = await recovery.effective(server, slug);
      res.json({ server: server.id, project: slug, exists, override, effective });
    })
    .patch(express.json({ limit: '16kb' }), async (req, res) => {
      const { server, slug } = addressed(req, settings.chatServers);
      const effective = await recovery.patch(server, slug, change(req.body));
      const { override } = await recovery.override(server, slug);
      res.json({ server: server.id, project: slug, exists: true, override, effective });
    })
    .delete(async (req, res) => {
      const { server, slug } = addressed(req, settings.chatServers);
      const effective = await recovery.clear(server, slug);
      res.json({ server: server.id, project: slug, exists: true, override: {}, effective });
    })
    .all(onlyMethods('GET', 'PATCH', 'DELETE'));
  return router;
}

/** Which project of which chat server. `~root` stands for the root workspace, whose slug is empty. */
function addressed(req: Request, servers: readonly ChatServer[]): { server: ChatServer; slug: string } {
  const given = String(req.params['slug']);
  const slug = given === '~root' ? '' : given;
  if (given === '' || !projectSlugSchema.safeParse(slug).success) {
    throw new Problem({
      status: 422,
      code: 'invalid_slug',
      field: 'slug',
      detail:
        'The project in the path must be a slug: letters, digits, "_", "-" and single dots; "~root" is the root workspace.',
    });
  }
  return { server: addressedServer(req, servers), slug };
}

function addressedServer(req: Request, servers: readonly ChatServer[]): ChatServer {
  const id = req.query['server'];
  const [only, ...others] = servers;
  if (id === undefined && only !== undefined && others.length === 0) return only;
  if (typeof id !== 'string') {
    throw new Problem({
      status: 400,
      code: 'server_required',
      field: 'server',
      detail: `Several chat servers are served here; say which: ?server=${servers.map((server) => server.id).join('|')}.`,
    });
  }
  const server = servers.find((candidate) => candidate.id === id);
  if (server !== undefined) return server;
  throw new Problem({ status: 404, code: 'server_unknown', field: 'server', detail: 'No chat server has this id.' });
}

function change(body: unknown): Record<string, unknown> {
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return { ...body };
  throw new Problem({
    status: 422,
    code: 'invalid_setting',
    field: '',
    detail: 'The body must be a JSON object (application/json) of settings; null removes one.',
  });
}

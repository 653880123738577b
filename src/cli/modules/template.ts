import { readFile } from 'node:fs/promises'
import { packageRoot } from '../../node/index.ts'

/** Files of a new module: it counts the spaces of a tenant, answers requests, and its samples pass. */
export async function templateOf(id: string): Promise<Readonly<Record<string, string>>> {
  const name = id.replaceAll('-', ' ').replace(/^./, (letter) => letter.toUpperCase())
  return {
    'module.json': json({
      id,
      name,
      version: '0.1.0',
      type: 'A',
      svcCoreVersion: '>=1.0.0',
      description: 'Counts new spaces',
      author: { name: 'Your name', email: 'you@example.org' },
      license: 'MIT',
      category: 'organization',
      permissions: ['events:publish', 'events:subscribe'],
      featureFlag: id,
      main: 'index.js',
      events: { subscribes: ['space.created'], publishes: [{ name: 'counted', notify: false }] },
      routes: true,
      settings: { type: 'object', properties: { step: { type: 'integer', title: 'Count in steps of', minimum: 1, default: 1 } } },
      dataVersion: 1,
    }),
    'index.js': code,
    'samples.json': json({
      steps: [
        {
          event: { type: 'space.created', payload: { spaceId: 'spc_1' } },
          expect: { documents: { count: 1, 'space:spc_1': { counted: 1 } }, published: [{ name: 'counted', payload: { count: 1 } }] },
        },
        { request: { method: 'GET', path: '/' }, expect: { status: 200, body: { count: 1 } } },
        { request: { method: 'GET', path: '/other' }, expect: { status: 404 } },
      ],
    }),
    'README.md': readme(name),
    'types/module.d.ts': await readFile(packageRoot('types', 'module.d.ts'), 'utf8'),
  }
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`

const code = `/** @type {import('./types/module.d.ts').Migrations} */
export const migrations = [
  async (svc) => {
    await svc.data.put('count', 0)
  },
]

/** @type {import('./types/module.d.ts').Handlers} */
export const on = {
  'space.created': async (event, svc) => {
    const count = (await svc.data.get('count')) + svc.settings.step
    await svc.data.put('count', count)
    await svc.data.put(\`space:\${event.payload.spaceId}\`, { counted: count })
    await svc.events.publish('counted', { count })
    svc.log('spaces counted:', count)
  },
}

/** @type {import('./types/module.d.ts').Handle} */
export const handle = async (request, svc) => {
  if (request.method !== 'GET' || request.path !== '/') return { status: 404, body: { message: 'not found' } }
  return { body: { count: await svc.data.get('count') } }
}
`

const readme = (name: string) => `# ${name}

Counts new spaces. Replace this text by one for the people who install the module.
`

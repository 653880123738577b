import { createHash } from 'node:crypto'
import { readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { zipOf } from '../../src/node/module-package/index.ts'
import { approved, authored, submitted } from './support/module-packages.ts'
import { moduleService } from './support/module-service.ts'
import { freePorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'
import { type Simulated, simulatedTenants } from './support/simulated-tenants.ts'

// docs/module-authors.md and docs/modules.md as a person types them: from `modules init` to a run, over two daemons.

let all: Simulated
let anna: Awaited<ReturnType<Simulated['user']>>
let tom: typeof anna
let eva: typeof anna
let linden: Awaited<ReturnType<Simulated['tenant']>>
let dir: string
let developerId: string

const installed = '/modules/installed'

type Bootstrap = Readonly<{ featureFlags: Record<string, boolean>; modules: { moduleId: string; version: string; enabled: boolean }[] }>
type Installation = Readonly<{
  status: string
  withdrawn: { reason: string } | null
}>

beforeAll(async () => {
  all = await simulatedTenants({ count: 2 })
  linden = await all.tenant('linden', { anna: 'tenant-admin', tom: 'teacher' })
  await all.tenant('eiche', { eva: 'tenant-admin' })
  anna = await all.user('linden', 'anna')
  tom = await all.user('linden', 'tom')
  eva = await all.user('eiche', 'eva')
}, 120_000)
afterAll(() => all?.end())
afterEach(({ task }) => {
  if (task.result?.state === 'fail') for (const { output } of all.daemons) console.error(output().slice(-3000))
})

const createSpace = async (name: string) => {
  const answer = await tom.ask('POST', '/spaces', { body: { name, type: 'CLASSROOM', visibility: 'PUBLIC' } })
  expect(answer.status, answer.text).toBe(201)
}
const install = async (moduleId: string, approvedPermissions: readonly string[]) => {
  expect(await anna.ask('POST', '/modules/install', { body: { moduleId, approvedPermissions } })).toMatchObject({ status: 200 })
  return change(moduleId, 'activate')
}
const change = (moduleId: string, verb: string, body: object = {}) =>
  anna.ask<{ code?: string }>('POST', `${installed}/${moduleId}/${verb}`, { body })
const countOf = async (daemon = 0) => (await tom.ask<{ count: number }>('GET', '/module-api/attendance/', { daemon })).body
const bootstrap = async () => (await tom.ask<Bootstrap>('GET', '/bootstrap')).body
const shown = async (moduleId: string) => (await anna.ask<Installation>('GET', `${installed}/${moduleId}`)).body
const documents = async (moduleId: string) => {
  const rows = await all.db.selectFrom('module_documents').select(['key', 'value']).where('module_id', '=', moduleId).execute()
  return Object.fromEntries(rows.map(({ key, value }) => [key, JSON.parse(value)]))
}

describe('an author', () => {
  test('makes, tests and packs a module without a daemon', async () => {
    dir = await authored(all, 'attendance', { manifest: { permissions: ['events:publish', 'events:subscribe', 'spaces:read'] } })
    expect((await all.must('anna', 'modules', 'test', dir)).stdout).toMatch(/^OK \(5 steps/m)
    expect((await all.must('anna', 'modules', 'check', dir)).stdout).toMatch(/^scan +OK/m)
  })

  test('logs in and out, and leaves no device in the chat', async () => {
    const line = ['login', '--tenant', 'linden', '--name', 'tom', '--password-file', all.passwordFile]
    const devices = linden.sessions.size
    await all.must('tom', ...line)
    expect((await all.must('tom', 'logout', '--tenant')).stdout).toContain('Logged out')
    expect(linden.sessions.size).toBe(devices)
  })

  test('becomes a developer with the code of an operator', async () => {
    const { code } = (await all.must('root', 'reviews', 'invite', '--json')).json<{ code: string }>()
    await all.must('anna', 'login', '--tenant', 'linden', '--name', 'anna', '--password-file', all.passwordFile)
    const person = ['--email', 'anna@example.org', '--name', 'Anna', '--organization', 'Acme']
    developerId = (await all.must('anna', 'modules', 'register', ...person, '--code', code, '--json')).json<{ id: string }>().id
    const again = await all.tenantry('anna', 'modules', 'register', ...person, '--code', code)
    expect(again.exitCode).not.toBe(0)
  })

  test('gets file, line and column of forbidden code, and no submission', async () => {
    const bad = await authored(all, 'hidden', { files: { 'index.js': "export const on = {}\nawait import('child_' + 'process')\n" } })
    const refused = await all.tenantry('anna', 'modules', 'pack', bad)
    expect(refused).toMatchObject({ exitCode: 5 })
    expect(refused.stderr).toMatch(/index\.js:2:14/)
    const zip = join(all.folder, 'hidden.zip')
    const files = ['module.json', 'index.js', 'README.md'].map(async (name) => ({ name, bytes: await readFile(join(bad, name)) }))
    await writeFile(zip, await zipOf(await Promise.all(files)))
    const submission = await all.tenantry('anna', 'modules', 'submit', zip)
    expect(submission).toMatchObject({ exitCode: 5 })
    expect(submission.stderr).toMatch(/SCAN_FAILED[\s\S]*index\.js:2:14/)
    expect((await all.must('root', 'reviews', 'list')).stdout).toBe('No submissions await a review.')
  })

  test('submits it; a reviewer reads the source and approves it; the author gets a mail', async () => {
    const id = await submitted(all, dir)
    const review = (await all.must('root', 'reviews', 'show', id)).stdout
    expect(review).toMatch(/^scan +OK[\s\S]*^test +OK \(5 steps\)/m)
    expect(review).toContain("   10    'space.created': async (event, svc) => {")
    await all.must('root', 'reviews', 'approve', id, '--notes', 'read all files')
    const mail = await eventually('the mail is there', async () => {
      const found = await Promise.all(all.daemons.map(async ({ env }) => mailsIn(join(String(env.TENANTRY_DATA_DIR), 'mail'))))
      return found.flat()[0]
    })
    expect(mail).toMatch(/To: anna@example\.org[\s\S]*attendance 0\.1\.0 was approved/)
    const { body } = await eva.ask<{ modules: object[] }>('GET', '/store/modules?search=ATTEND')
    expect(body.modules).toMatchObject([{ moduleId: 'attendance', version: '0.1.0', installed: null }])
  })
})

describe('a package', () => {
  test('is downloaded by a signed link, and by no other', async () => {
    const headers = { 'x-developer-id': developerId }
    const { body } = await anna.ask<{ submissions: { submissionId: string; checksum: string }[] }>('GET', '/store/developer/submissions', {
      headers,
    })
    const [submission] = body.submissions
    const link = await anna.ask<{ downloadUrl: string }>('GET', `/store/developer/download/${submission?.submissionId}`, { headers })
    expect(link.body).toMatchObject({ expiresInSeconds: 900 })
    const { downloadUrl } = link.body
    const bytes = Buffer.from(await (await fetch(downloadUrl)).arrayBuffer())
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(submission?.checksum)
    expect((await fetch(downloadUrl.replace(/expires=\d/, 'expires=9'))).status).toBe(403)
    expect(await anna.ask('GET', '/store/developer/submissions')).toMatchObject({ status: 403 })
    expect(await eva.ask('GET', '/store/developer/submissions', { headers })).toMatchObject({ status: 403 })
  })
})

const mailsIn = async (folder: string): Promise<string[]> => {
  const names = await readdir(folder).catch(() => [])
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))
}

describe('a tenant', () => {
  test('installs it with fewer permissions, activates it, and sees it at once', async () => {
    expect(await install('attendance', ['events:publish', 'events:subscribe'])).toMatchObject({ status: 200 })
    expect(await countOf()).toEqual({ count: 0 })
    for (const daemon of [0, 1]) {
      const { body } = await tom.ask<Bootstrap>('GET', '/bootstrap', { daemon })
      expect(body).toMatchObject({ featureFlags: { attendance: true }, modules: [{ moduleId: 'attendance', enabled: true }] })
    }
  })

  test('creates a space: the handler writes a document and publishes an event that another module receives', async () => {
    const listener = await authored(all, 'listener', {
      manifest: {
        permissions: ['events:subscribe'],
        events: { subscribes: ['module.attendance.counted', 'module.lessons.planned'], publishes: [] },
        ...{ routes: false, settings: null, dataVersion: 0 },
      },
      files: { 'index.js': listens, 'samples.json': '{}' },
    })
    await approved(all, listener)
    await install('listener', ['events:subscribe'])
    await createSpace('Class 7a')
    await eventually('both modules ran', async () => (await documents('listener')).counted === 1, { timeoutMs: 20_000 })
    expect(await documents('attendance')).toMatchObject({ count: 1 })
    expect(await countOf(1)).toEqual({ count: 1 })
  })

  test('rates what it has installed', async () => {
    const rating = { body: { rating: 4, comment: 'counts well' } }
    expect(await eva.ask('POST', '/store/modules/attendance/ratings', rating)).toMatchObject({ status: 403 })
    expect(await tom.ask('POST', '/store/modules/attendance/ratings', rating)).toMatchObject({ status: 201 })
    const item = { rating: { average: 4, count: 1 }, installations: 1, installed: null, ratings: [{ comment: 'counts well' }] }
    expect((await eva.ask('GET', '/store/modules/attendance')).body).toMatchObject(item)
    const { body } = await tom.ask<{ modules: object[] }>('GET', '/modules/registry')
    expect(body.modules).toContainEqual(
      expect.objectContaining({ moduleId: 'attendance', installation: { status: 'active', version: '0.1.0' } }),
    )
  })

  test('keeps its routes from everybody else', async () => {
    expect(await eva.ask('GET', '/module-api/attendance/')).toMatchObject({ status: 404 })
    expect(await all.send('GET', '/api/platform/v1/module-api/attendance/')).toMatchObject({ status: 401 })
    expect(await tom.ask('POST', '/modules/install', { body: { moduleId: 'listener', approvedPermissions: [] } })).toMatchObject({
      status: 403,
    })
  })
})

const listens = `export const on = {
  'module.attendance.counted': async (event, svc) => {
    await svc.data.put('counted', event.payload.count)
  },
  'module.lessons.planned': async (event, svc) => {
    await svc.data.put('planned', event.payload.lessons)
  },
}
`

describe('a module that misbehaves', () => {
  test('is cut off within its limits, holds up nobody, and is shown in the health', async () => {
    const rogue = await authored(all, 'rogue', {
      manifest: {
        permissions: ['spaces:read'],
        events: { subscribes: [], publishes: [] },
        ...{ settings: null, dataVersion: 0 },
      },
      files: { 'index.js': misbehaves, 'samples.json': '{}' },
    })
    await approved(all, rogue)
    await install('rogue', [])
    const ask = (path: string) => tom.ask<{ code?: string; error?: string }>('GET', `/module-api/rogue/${path}`)
    expect(await ask('forbidden')).toMatchObject({ status: 200, body: { error: 'PERMISSION' } })
    expect(await ask('throw')).toMatchObject({ status: 502, body: { code: 'MODULE_FAILED' } })
    const broken = Promise.all([ask('loop'), ask('loop'), ask('memory')])
    const times: number[] = []
    let isOver = false
    const over = broken.then(() => {
      isOver = true
    })
    while (!isOver) {
      const startMs = performance.now()
      expect((await eva.ask('GET', '/bootstrap')).status).toBe(200)
      times.push(performance.now() - startMs)
      await new Promise((next) => setTimeout(next, 50)) // one address may call 30 times a second
    }
    await over
    for (const { status, body } of await broken) expect({ status, code: body.code }).toEqual({ status: 502, code: 'MODULE_LIMIT' })
    expect(Math.max(...times)).toBeLessThan(1000)
    const health = await eventually('the counts are stored', async () => {
      const { stdout } = await all.must('root', 'modules', 'health')
      return /rogue.*unhealthy/.test(stdout) && stdout
    })
    expect(health).toMatch(/rogue .*permission 1/)
    expect(health).toMatch(/attendance +0\.1\.0 +OK/)
  })
})

const misbehaves = `export const handle = async (request, svc) => {
  if (request.path === '/loop') for (;;);
  if (request.path === '/memory') {
    const held = []
    for (;;) held.push('x'.repeat(100000) + held.length)
  }
  if (request.path === '/throw') throw new Error('broken')
  try {
    return { body: await svc.spaces.list() }
  } catch (error) {
    return { body: { error: error.code } }
  }
}
`

describe('a withdrawn module', () => {
  test('runs on no daemon a second later, and continues after it is restored', async () => {
    const { count } = await countOf()
    await all.must('root', 'modules', 'withdraw', 'attendance', '--reason', 'sends data to strangers', '--yes')
    const withdrawnMs = performance.now()
    let lastRunMs = 0
    while (performance.now() - withdrawnMs < 2_000) {
      for (const daemon of [0, 1]) {
        const { status, text } = await tom.ask('GET', '/module-api/attendance/', { daemon })
        expect([200, 404], text).toContain(status)
        if (status === 200) lastRunMs = performance.now() - withdrawnMs
      }
      await new Promise((next) => setTimeout(next, 100)) // one address may call 30 times a second
    }
    expect(lastRunMs).toBeLessThan(1_000)
    await createSpace('Class 7b')
    expect(await shown('attendance')).toMatchObject({ status: 'active', withdrawn: { reason: 'sends data to strangers' } })
    const { featureFlags, modules } = await bootstrap()
    expect(featureFlags.attendance).not.toBe(true)
    expect(modules.find(({ moduleId }) => moduleId === 'attendance')).toMatchObject({ enabled: false })
    expect(await documents('attendance')).toMatchObject({ count })
    await all.must('root', 'modules', 'restore', 'attendance')
    await createSpace('Class 7c')
    await eventually('it counts again', async () => (await countOf()).count > count, { timeoutMs: 20_000 })
  })
})

describe('a module with a service of its own', () => {
  let service: Awaited<ReturnType<typeof moduleService>>
  let slow: typeof service
  const permissions = ['events:publish', 'events:subscribe']
  const spacesHeard = () => service.ofType('space.created').map(({ data }) => data.payload.spaceId)

  beforeAll(async () => {
    service = await moduleService()
    slow = await moduleService()
    for (const id of ['lessons', 'slow']) await approved(all, await ofTypeB(id))
  })

  test('is shown to its reviewer with a warning that data leaves the platform', async () => {
    const id = await submitted(all, await ofTypeB('lesson'))
    const review = (await all.must('root', 'reviews', 'show', id)).stdout
    expect(review).toContain('warnings:\n  Events of tenants reach the server of Acme GmbH (DE): space.created')
    await all.must('root', 'reviews', 'reject', id, '--notes', 'a test')
  })
  afterAll(async () => void (await Promise.all([service?.close(), slow?.close()])))

  async function ofTypeB(id: string): Promise<string> {
    const manifest = {
      ...{ type: 'B', permissions, dataVersion: 0, settings: null },
      events: { subscribes: ['space.created'], publishes: [{ name: 'planned', notify: false }] },
      dataProcessing: { operator: 'Acme GmbH', country: 'DE', privacyUrl: 'https://acme.example/privacy' },
    }
    const made = await authored(all, id, { manifest })
    for (const file of ['index.js', 'samples.json']) await rm(join(made, file))
    return made
  }

  async function connect(id: string, to: typeof service): Promise<void> {
    const shown = (await all.must('root', 'modules', 'upstream', id, to.url, '--json')).json<{ signingSecret: string }>()
    to.state.secret = shown.signingSecret
  }

  test('is activated only when its service answers', async () => {
    expect(await install('lessons', permissions)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    await connect('lessons', service)
    service.state.reply = () => ({ status: 500 })
    expect(await change('lessons', 'activate')).toMatchObject({ status: 502, body: { code: 'MODULE_SERVICE_FAILED' } })
    expect(await shown('lessons')).toMatchObject({ status: 'installed' })
    service.state.reply = () => ({ status: 204 })
    expect(await change('lessons', 'activate')).toMatchObject({ status: 200 })
    expect(service.ofType('module.activate').at(-1)).toMatchObject({ data: { moduleId: 'lessons', permissions } })
  })

  test('gets events signed, again with the same id after a failure, and publishes in its answer', async () => {
    service.state.reply = ({ type }) =>
      type === 'space.created' && spacesHeard().length === 1 ? { status: 500 } : { status: 200, body: planned }
    await createSpace('Class 8a')
    await eventually('the answer was published', async () => (await documents('listener')).planned === 3, { timeoutMs: 30_000 })
    const ids = service.ofType('space.created').map(({ data }) => data.deliveryId)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
    expect(service.state.refused).toBe(0)
  })

  const planned = { publish: [{ name: 'planned', payload: { lessons: 3 } }] }

  test('answers requests of users, whose identity it verifies', async () => {
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', all.daemons[0]?.url))
    const issuer = all.daemons[0]?.url ?? ''
    let sent = ''
    service.state.api = async ({ method, path, headers, body }, response) => {
      sent = JSON.stringify(headers)
      if (path === '/api/page')
        return response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'a=b' }).end('<script>1</script>')
      if (path === '/api/moved') return response.writeHead(302, { location: '/api/page' }).end()
      const token = String(headers.authorization).slice('Bearer '.length)
      const { payload } = await jwtVerify(token, keys, { issuer, audience: 'module:lessons' })
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ method, path, body, roles: payload.roles }))
    }
    const answer = await tom.ask('POST', '/module-api/lessons/plan?week=3', { body: { room: 12 } })
    expect(answer).toMatchObject({
      status: 200,
      body: { method: 'POST', path: '/api/plan?week=3', body: '{"room":12}', roles: ['teacher'] },
    })
    expect(sent).not.toContain(tom.token)
    const page = await tom.ask('GET', '/module-api/lessons/page')
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
    })
    expect(page.headers.get('set-cookie')).toBeNull()
    expect(await tom.ask('GET', '/module-api/lessons/moved')).toMatchObject({ status: 502 })
    expect(await tom.ask('GET', '/module-api/lessons/a/..%2fb')).toMatchObject({ status: 400 })
    expect(await eva.ask('GET', '/module-api/lessons/plan')).toMatchObject({ status: 404 })
  })

  test('holds up nobody when its service is slow', async () => {
    service.state.reply = () => ({ status: 204 })
    slow.state.reply = ({ type }) => ({ status: 204, afterMs: type === 'space.created' ? 9_000 : 0 })
    await connect('slow', slow)
    await install('slow', permissions)
    const [before, counted] = [spacesHeard().length, (await countOf()).count]
    await createSpace('Class 10a')
    await eventually('the slow one is called', async () => slow.ofType('space.created').length === 1, { timeoutMs: 10_000 })
    const startMs = performance.now()
    await createSpace('Class 10b')
    await eventually(
      'the others have both events',
      async () => spacesHeard().length === before + 2 && (await countOf()).count === counted + 2,
    )
    expect(performance.now() - startMs).toBeLessThan(8_000)
    expect(slow.ofType('space.created')).toHaveLength(1)
  })
})

describe('the service of docs/module-services.md', () => {
  const page = new URL('../../docs/module-services.md', import.meta.url)
  const printed = (text: string, language: string) => new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms').exec(text)?.[1] ?? ''

  test('works as it is printed: it takes events, publishes and answers a user', async () => {
    const text = await readFile(page, 'utf8')
    const made = await authored(all, 'printed', { manifest: JSON.parse(printed(text, 'json')) })
    for (const file of ['index.js', 'samples.json']) await rm(join(made, file))
    await approved(all, made)
    const port = await freePorts(1)
    const set = await all.must('root', 'modules', 'upstream', 'printed', `http://127.0.0.1:${port}`, '--json')
    const file = join(all.folder, 'service.mjs')
    await symlink(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(all.folder, 'node_modules'))
    await writeFile(file, printed(text, 'js').replace('8080', String(port)).replace('module:lessons', 'module:printed'))
    const env = { PLATFORM: all.daemons[0]?.url ?? '', SECRET: set.json<{ signingSecret: string }>().signingSecret }
    const server = execa(process.execPath, [file], { env, reject: false })
    try {
      await eventually('the service listens', async () => (await fetch(`http://127.0.0.1:${port}/`)).status === 401, { timeoutMs: 20_000 })
      expect(await install('printed', ['events:publish', 'events:subscribe'])).toMatchObject({ status: 200 })
      await createSpace('Class 9a')
      const asked = async () => (await tom.ask<{ spaces: number; path: string }>('GET', '/module-api/printed/hello')).body
      await eventually('the service took the event', async () => (await asked()).spaces === 1, { timeoutMs: 30_000 })
      expect(await asked()).toMatchObject({ path: '/api/hello', spaces: 1, user: expect.stringMatching(/^usr_/) })
      const published = await all.db.selectFrom('events').select('event_type').where('event_type', '=', 'module.printed.counted').execute()
      expect(published).toHaveLength(1)
    } finally {
      server.kill('SIGKILL')
      await server
    }
  })
})

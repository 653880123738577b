import type { ServerResponse } from 'node:http'
import { expect, test, vi } from 'vitest'
import { moduleRunsFeature } from '../../../../src/daemon/modules/index.ts'
import { runnableInstallation } from '../../../../src/daemon/modules/runnable.ts'
import type { ModuleRunsDeps } from '../../../../src/daemon/modules/runs/deps.ts'
import { migrateDocuments } from '../../../../src/daemon/modules/runs/migrate-documents.ts'
import { watchRunnable } from '../../../../src/daemon/modules/watch-runnable.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { aModuleRunsWorld, type ModuleRunsWorld } from '../../../support/module-runs-world.ts'
import { servedApp } from '../../../support/served-app.ts'

const patiently = { timeout: 60_000 }
const handle = (body: string) => `export const handle = async (request, svc) => { ${body} }`

onBothDialects('routes of modules', (fresh) => {
  const world = async (body: string) => {
    const one = await aModuleRunsWorld(await fresh())
    await one.install('answers', { code: handle(body) })
    return { one, ask: await one.app() }
  }

  test('answer users of the tenant with what passes the filter', async () => {
    const { one, ask } = await world(`return {
      status: 201, headers: { 'content-type': 'text/html', 'set-cookie': 'a=b', 'x-module-page': '2' }, body: request,
    }`)
    const response = await ask('answers/lists/1?day=2', {
      method: 'PUT',
      body: '{"n":1}',
      headers: { 'content-type': 'application/json', cookie: 'svc=1' },
    })
    expect(response.status).toBe(201)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      ...{ 'content-type': 'application/octet-stream', 'content-disposition': 'attachment', 'x-module-page': '2' },
      ...{ 'content-security-policy': "sandbox; default-src 'none'", 'x-content-type-options': 'nosniff' },
    })
    expect(response.headers.get('set-cookie')).toBeNull()
    const { headers, ...request } = (await response.json()) as { headers: object }
    const user = { userId: one.anna.userId, roles: one.anna.roles }
    expect(request).toEqual({ method: 'PUT', path: '/lists/1', query: { day: '2' }, body: { n: 1 }, user })
    expect(Object.keys(headers)).not.toContain('authorization')
    expect(Object.keys(headers)).not.toContain('cookie')
  })

  test.each([
    ['not installed', { status: 'deactivated' }],
    ['paused', { paused: 1 }],
  ])('a module that is %s does not exist', async (_, values) => {
    const { one, ask } = await world('return { body: 1 }')
    expect((await ask('answers/x')).status).toBe(200)
    await one.change('answers', values)
    expect((await ask('answers/x')).status).toBe(404)
    expect((await ask('unknown/x')).status).toBe(404)
  })

  test('a module whose package fails verification is unavailable, without words for operators', async () => {
    const { one, ask } = await world('return { body: 1 }')
    one.damaged.add('answers')
    const response = await ask('answers/x')
    const { code, message } = (await response.json()) as Record<string, string>
    expect([response.status, code]).toEqual([503, 'UNAVAILABLE'])
    expect(message).not.toContain('key')
  })

  test.each([
    ['throw new Error("secret detail")', 502, 'MODULE_FAILED', 'failed'],
    ['for (;;);', 502, 'MODULE_LIMIT', 'limit'],
    ['return { status: 99 }', 502, 'MODULE_FAILED', 'done'],
  ])('%s is a typed answer, and stored', async (body, status, code, stored) => {
    const { one, ask } = await world(`await svc.data.put('a', 1); ${body}`)
    const response = await ask('answers')
    const problem = (await response.json()) as { message: string }
    expect({ status: response.status, ...problem }).toMatchObject({ status, code })
    expect(problem.message).not.toContain('secret')
    expect(await one.runs()).toMatchObject([{ kind: 'route', status: stored }])
    expect(Object.keys(await one.documents())).toEqual(stored === 'done' ? ['a'] : [])
  })

  test('a body nested too deep for the interpreter is refused before the module runs', async () => {
    const { one, ask } = await world('return { status: 204 }')
    const post = (levels: number) =>
      ask('answers', { method: 'POST', body: '['.repeat(levels) + ']'.repeat(levels), headers: { 'content-type': 'application/json' } })
    expect((await post(64)).status).toBe(204)
    for (const levels of [65, 100_000]) {
      const refused = await post(levels)
      expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([400, 'BAD_JSON'])
    }
    expect(await one.runs()).toHaveLength(1)
  })

  test.each(['application/json', 'text/plain'])('a body of %s that is not UTF-8 is refused before the module runs', async (type) => {
    const { one, ask } = await world('return { status: 204 }')
    const refused = await ask('answers', { method: 'POST', body: Buffer.from('"T\u00fcr"', 'latin1'), headers: { 'content-type': type } })
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([400, 'BAD_JSON'])
    expect(await one.runs()).toEqual([])
  })

  test('spaces and files are those of the calling user', async () => {
    const { one, ask } = await world(`
      const error = await svc.files.list(request.query.space).catch(({ code }) => code)
      return { body: { spaces: (await svc.spaces.list()).map(({ id }) => id), error } }`)
    const at = one.clock.now().toISOString()
    const space = { name: 'x', type: 'GROUP', revision: 1, chat_revision: 0, chat_space_id: null, chat_room_id: null, created_by: 'x' }
    const row = { ...space, id: 'spc_p', tenant_id: one.tenantId, visibility: 'PRIVATE', created_at: at, updated_at: at, deleted_at: null }
    await one.db
      .insertInto('spaces')
      .values(row as never)
      .execute()
    expect(await (await ask('answers?space=spc_p')).json()).toEqual({ spaces: [], error: 'NOT_FOUND' })
  })

  test('a file that a module writes has the module as creator, and names the run', async () => {
    const { one, ask } = await world(
      `return { body: await svc.files.write({ spaceId: request.query.space, name: 'a.txt', content: 'hello' }) }`,
    )
    const { id } = await one.aSpace(one.anna)
    const written = (await (await ask(`answers?space=${id}`)).json()) as { id: string }
    expect(await one.rows()).toMatchObject([{ id: written.id, created_by: 'module:answers', bytes: 5, state: 'ready' }])
    const event = await one.db.selectFrom('events').select('payload').where('event_type', '=', 'file.created').executeTakeFirstOrThrow()
    expect(JSON.parse(event.payload)).toMatchObject({ runId: (await one.runs())[0]?.id, depth: 0 })
  })

  /** Something happens once, between the end of the first run and its commit. */
  const interrupted = (one: ModuleRunsWorld, happens: () => Promise<unknown>): ModuleRunsWorld => {
    const { run } = one.sandbox
    let isFirst = true
    const sandbox = {
      ...one.sandbox,
      run: async (...[given, serve, signal]: Parameters<typeof run>) => {
        const result = await run(given, serve, signal)
        if (isFirst) await happens()
        isFirst = false
        return result
      },
    }
    return { ...one, sandbox }
  }
  const counter = `const n = (await svc.data.get('n')) ?? 0; await svc.data.put('n', n + 1); return { body: n + 1 }`

  test('a document that changed meanwhile is read again', async () => {
    const one = await aModuleRunsWorld(await fresh())
    await one.install('answers', { code: handle(counter) })
    const row = { tenant_id: one.tenantId, module_id: 'answers', generation: 0, key: 'n', value: '1', version: 7, bytes: 2 }
    const ask = await one.app(interrupted(one, () => one.db.insertInto('module_documents').values(row).execute()))
    expect(await (await ask('answers')).json()).toBe(2)
    expect(await one.documents()).toEqual({ n: 2 })
  })

  test.each([
    [
      'withdraw',
      (one: ModuleRunsWorld) =>
        one.db
          .insertInto('module_withdrawals')
          .values({ module_id: 'answers', version: '1.0.0', reason: 'x', withdrawn_at: 'x' })
          .execute(),
    ],
    ['deactivate', (one: ModuleRunsWorld) => one.change('answers', { status: 'deactivated', generation: 2 })],
    ['suspension of the tenant', (one: ModuleRunsWorld) => one.db.updateTable('tenants').set({ status: 'suspended' }).execute()],
  ])('a run that ends after a %s commits nothing', async (_, happens) => {
    const one = await aModuleRunsWorld(await fresh())
    await one.install('answers', { code: handle(counter) })
    const ask = await one.app(interrupted(one, () => happens(one)))
    const response = await ask('answers')
    expect(response.status).toBe(404)
    expect(await one.documents()).toEqual({})
  })

  test('migrations write the next generation and leave the present one as it is', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const migrations = `export const migrations = [async (svc) => {
      let after
      for (;;) {
        const page = await svc.data.list({ limit: 500, after })
        for (const { key, value } of page) await svc.data.put(key, { value })
        if (page.length < 500) return
        after = page.at(-1).key
      }
    }]`
    await one.install('answers', { code: migrations, dataVersion: 1 })
    const rows = Array.from({ length: 1_200 }, (_, n) => ({
      ...{
        tenant_id: one.tenantId,
        module_id: 'answers',
        generation: 0,
        key: `k${String(n).padStart(5, '0')}`,
        value: `${n}`,
        version: 1,
        bytes: 10,
      },
    }))
    for (let n = 0; n < rows.length; n += 400)
      await one.db
        .insertInto('module_documents')
        .values(rows.slice(n, n + 400))
        .execute()
    const found = await runnableInstallation(one.db, one.clock, { tenantId: one.tenantId, moduleId: 'answers' })
    const { manifest } = await one.loadCode({ moduleId: 'answers', version: '1.0.0' })
    const preparation = { installation: { ...(found as NonNullable<typeof found>), dataVersion: 0 }, manifest, permissions: [], target: 2 }
    expect(await migrateDocuments(one, preparation)).toMatchObject({ dataGeneration: 2, dataVersion: 1 })
    const of = (generation: number) =>
      one.db.selectFrom('module_documents').select('value').where('generation', '=', generation).orderBy('key').execute()
    expect((await of(0))[1199]).toEqual({ value: '1199' })
    expect((await of(2)).map(({ value }) => value)).toEqual(rows.map(({ value }) => `{"value":${value}}`))
  })

  test('a migration ends within a second of the withdrawal of its version, and only of that one', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const code = `export const migrations = [async (svc) => { for (;;) await svc.data.get('a') }]`
    await one.install('answers', { code, version: '2.0.0', dataVersion: 1 })
    const found = await runnableInstallation(one.db, one.clock, { tenantId: one.tenantId, moduleId: 'answers' })
    const { manifest } = await one.loadCode({ moduleId: 'answers', version: '2.0.0' })
    const withdraw = (version: string) =>
      one.db.insertInto('module_withdrawals').values({ module_id: 'answers', version, reason: 'x', withdrawn_at: 'x' }).execute()
    const preparation = { installation: { ...(found as NonNullable<typeof found>), dataVersion: 0 }, manifest, permissions: [], target: 2 }
    let reads = 0
    const findings = { ...one, settingsOf: async () => ({ reads: ++reads }) }
    const migrated = migrateDocuments(findings, preparation).catch(({ code: refused }) => refused)
    await expect.poll(() => reads).toBe(1)
    await withdraw('1.0.0')
    await one.clock.advance(1_000)
    await withdraw('2.0.0')
    const outcome = vi.fn()
    void migrated.then(outcome)
    await vi.waitUntil(async () => {
      await one.clock.advance(500)
      return outcome.mock.calls.length > 0
    }, patiently)
    expect(outcome).toHaveBeenCalledWith('CONFLICT')
  })

  test('a slow migration delays no other tenant; the next one of its tenant waits 10 s at most, and its time begins with its place', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const preparationOf = async (moduleId: string, migration: string) => {
      await one.install(moduleId, { code: `export const migrations = [async (svc) => { ${migration} }]`, dataVersion: 1 })
      const found = await runnableInstallation(one.db, one.clock, { tenantId: one.tenantId, moduleId })
      const { manifest } = await one.loadCode({ moduleId, version: '1.0.0' })
      return { installation: { ...(found as NonNullable<typeof found>), dataVersion: 0 }, manifest, permissions: [], target: 2 }
    }
    const [slow, next, quick] = [
      await preparationOf('slow', `for (;;) await svc.data.get('a')`),
      await preparationOf('next', `for (;;) await svc.data.get('a')`),
      await preparationOf('quick', ''),
    ] as const
    const begun: string[] = []
    const settingsOf: ModuleRunsDeps['settingsOf'] = async (_, { moduleId }) => {
      begun.push(moduleId)
      return {}
    }
    const migrate = (preparation: typeof slow) =>
      migrateDocuments({ ...one, settingsOf }, preparation).then(
        () => ({ code: 'done', message: '' }),
        ({ code, message }: { code: string; message: string }) => ({ code, message }),
      )
    const first = migrate(slow)
    await expect.poll(() => begun).toEqual(['slow'])
    const tenant = await one.db.selectFrom('tenants').selectAll().executeTakeFirstOrThrow()
    const other = { id: 'ten_other', slug: 'other', chat_domain: 'chat.other.example' }
    await one.db
      .insertInto('tenants')
      .values({ ...tenant, ...other })
      .execute()
    const elsewhere = { ...quick.installation, tenantId: other.id }
    expect(await migrate({ ...quick, installation: elsewhere })).toMatchObject({ code: 'done' })

    const refused = migrate(quick)
    await one.clock.advance(10_000)
    expect(await refused).toEqual({ code: 'UNAVAILABLE', message: expect.stringMatching(/within 10 s.*migrates.*Retry in 5 s/) })
    await one.clock.advance(45_000)
    const second = migrate(next)
    await one.clock.advance(5_000)
    const late = { code: 'MODULE_MIGRATION_FAILED', message: expect.stringContaining('longer than 60 s') }
    expect(await first).toEqual(late)
    await expect.poll(() => begun).toEqual(['slow', 'quick', 'next'])
    const outcome = vi.fn()
    void second.then(outcome)
    await one.clock.advance(59_000)
    await new Promise(setImmediate)
    expect(outcome).not.toHaveBeenCalled()
    await one.clock.advance(1_000)
    expect(await second).toEqual(late)
  })

  test('a request to a service ends within a second of the withdrawal', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const dataProcessing = { operator: 'Acme', country: 'DE', privacyUrl: 'https://acme.example' }
    await one.install('remote', { code: '', manifest: { type: 'B', dataProcessing } })
    let ended: AbortSignal | undefined
    const callService: typeof one.callService = (async ({ signal }: { signal: AbortSignal }) =>
      async (response: ServerResponse) => {
        ended = signal
        await new Promise((abort) => signal.addEventListener('abort', abort))
        response.destroy()
      }) as never
    const ask = await one.app({ ...one, callService })
    const asked = ask('remote/slow').catch(() => 'cut off')
    await expect.poll(() => ended).toBeDefined()
    await one.clock.advance(500)
    expect(ended?.aborted).toBe(false)
    await one.change('remote', { generation: 2 })
    await vi.waitUntil(async () => {
      await one.clock.advance(500)
      return ended?.aborted
    }, patiently)
    expect(await asked).toBe('cut off')
  })

  test('requests that wait for a service are checked with one statement', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const dataProcessing = { operator: 'Acme', country: 'DE', privacyUrl: 'https://acme.example' }
    await one.install('remote', { code: '', manifest: { type: 'B', dataProcessing } })
    let [statements, waiting] = [0, 0]
    const db = one.db.withPlugin({
      transformQuery: ({ node }) => {
        statements += 1
        return node
      },
      transformResult: async ({ result }) => result,
    })
    const callService = (async () => async (response: ServerResponse) => {
      waiting += 1
      await new Promise((closed) => response.once('close', closed))
    }) as never
    const ask = await one.app({ ...one, db, watch: watchRunnable({ ...one, db }), callService })
    const left = new AbortController()
    const asked = Array.from({ length: 16 }, () => ask('remote/slow', { signal: left.signal }).catch(() => 'left'))
    await expect.poll(() => waiting).toBe(16)
    statements = 0
    for (let n = 0; n < 10; n++) {
      const asleep = one.clock.sleepers()
      await one.clock.advance(400)
      await expect.poll(() => one.clock.sleepers()).toBeGreaterThanOrEqual(asleep) // the check is done
    }
    expect(statements).toBeGreaterThan(0)
    expect(statements).toBeLessThanOrEqual(10)
    left.abort()
    await Promise.all(asked)
  })

  test('a run that a stop of the daemon ends is unavailable, not a fault of the daemon', async () => {
    const one = await aModuleRunsWorld(await fresh())
    await one.install('answers', { code: handle('for (;;);') })
    const [stop, started] = [new AbortController(), vi.fn(async () => ({}))]
    const routes = moduleRunsFeature.routes?.({ ...one, settingsOf: started }) ?? []
    const authenticate = { platform: async () => one.anna }
    const { url } = await servedApp(routes, { authenticate, clock: one.clock, draining: stop.signal })
    const asked = fetch(`${url}/api/platform/v1/module-api/answers`)
    await expect.poll(() => started.mock.calls.length).toBe(1)
    stop.abort()
    expect(await (await asked).json()).toMatchObject({ code: 'UNAVAILABLE', retryable: true })
  })

  test('a migration that fails has the message of the module', async () => {
    const one = await aModuleRunsWorld(await fresh())
    const code = `export const migrations = [async () => { throw new Error('no such field') }]`
    await one.install('answers', { code, dataVersion: 1 })
    const found = await runnableInstallation(one.db, one.clock, { tenantId: one.tenantId, moduleId: 'answers' })
    const { manifest } = await one.loadCode({ moduleId: 'answers', version: '1.0.0' })
    const preparation = { installation: { ...(found as NonNullable<typeof found>), dataVersion: 0 }, manifest, permissions: [], target: 2 }
    await expect(migrateDocuments(one, preparation)).rejects.toMatchObject({
      code: 'MODULE_MIGRATION_FAILED',
      message: expect.stringContaining('no such field'),
    })
    expect(await one.runs()).toMatchObject([{ kind: 'migration', status: 'failed' }])
  })
})

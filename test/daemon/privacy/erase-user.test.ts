import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Db, openDatabase } from '../../../src/daemon/db/index.ts'
import { systemClock } from '../../../src/node/index.ts'
import { createPostgresDatabase, testedDialects } from '../../support/databases.ts'
import { aFurnishedTenant, type FurnishedTenant } from '../../support/furnished-tenant.ts'
import { type Api, aKey, aRunningDaemon, clientOf, loggedIn, type RunningDaemon } from '../../support/running-daemon.ts'

/** They keep the id: the row that refuses the login, the chain of the audit log, and records that end by themselves. */
const keeping = new Set(['users', 'audit', 'events', 'jobs', 'revocations', 'alerts', 'alert_deliveries', 'stream_places'])

const png = `data:image/png;base64,${Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(20)]).toString('base64')}`

const permission = {
  elements: [
    { id: 's', kind: 'start', label: 'Start', config: {} },
    {
      ...{ id: 'f', kind: 'form', label: 'Permission' },
      config: {
        assignedRole: 'member',
        fields: [
          { name: 'illness', label: 'Illness', kind: 'text' },
          { name: 'sign', label: 'Signature', kind: 'signature' },
        ],
      },
    },
    { id: 'm', kind: 'message', label: 'News', config: { room: 'space', body: 'It is {illness}' } },
    { id: 't', kind: 'task', label: 'File {illness}', config: { assignedRole: 'tenant-admin' } },
    { id: 'e', kind: 'end', label: 'End', config: {} },
  ],
  edges: [
    { id: 'sf', source: 's', target: 'f' },
    { id: 'fm', source: 'f', target: 'm' },
    { id: 'mt', source: 'm', target: 't' },
    { id: 'te', source: 't', target: 'e' },
  ],
} as const

describe.each(testedDialects())('the erasure of a user on %s', (dialect) => {
  let daemon: RunningDaemon
  let db: Db
  let close: () => Promise<void>
  let operator: Api
  let tenant: FurnishedTenant
  const anna = { slug: 'ahorn', localpart: 'amarelle-member' }

  beforeAll(async () => {
    const env: Record<string, string> =
      dialect === 'postgres' ? { TENANTRY_DATABASE: await createPostgresDatabase(), TENANTRY_SECRET_KEY: aKey() } : {}
    daemon = await aRunningDaemon({ env })
    operator = clientOf(daemon.url, await loggedIn(daemon, 'operator'))
    tenant = await aFurnishedTenant(daemon, 'ahorn', 'amarelle')
    ;({ db, close } = openDatabase(daemon.config.databaseUrl))
  })
  afterAll(async () => {
    await close()
    await daemon.close()
  })

  const idOf = async (localpart: string) =>
    (await db.selectFrom('users').select('id').where('localpart', '=', localpart).executeTakeFirstOrThrow()).id

  /** `table row` of every row outside the exceptions that contains the text. */
  const rowsWith = async (text: string): Promise<string[]> => {
    const names = (await db.introspection.getTables()).map(({ name }) => name).filter((name) => !keeping.has(name))
    const found = names.map(async (name) => {
      const { rows } = await sql<object>`select * from ${sql.table(name)}`.execute(db)
      return rows.map((row) => `${name} ${JSON.stringify(row)}`).filter((row) => row.includes(text))
    })
    return (await Promise.all(found)).flat()
  }

  const jobsDone = async () => {
    for (let look = 0; ; look++) {
      const { rows } = await sql<{ topic: string; last_error: string | null }>`
        select topic, last_error from jobs where topic = 'privacy.erase-user'`.execute(db)
      if (rows.length === 0) return
      if (look > 600) throw new Error(`the erasure did not end: ${rows[0]?.last_error}`)
      await systemClock.sleep(50)
    }
  }

  const aSignedRun = async () => {
    const [boss, plain] = [clientOf(daemon.url, tenant.head), clientOf(daemon.url, tenant.member)]
    const { spaces } = await boss.spaces.listSpaces({ query: {} })
    const spaceId = spaces.find(({ name }) => name.endsWith('hidden'))?.id as string
    const board = await boss.boards.createBoard({ body: { name: 'Permission', definition: permission as never } })
    await boss.boards.publishBoard({ params: { id: board.id } })
    const run = await plain.runs.startRun({ params: { id: board.id }, body: { spaceId, key: 'my-key' } })
    const ofBoss = await boss.runs.startRun({ params: { id: board.id }, body: { spaceId } })
    for (const [{ id }, illness] of [
      [run, 'measles'],
      [ofBoss, 'none'],
    ] as const) {
      const body = { elementId: 'f', action: 'submit', data: { illness, sign: png } } as const
      await plain.runs.advanceRun({ params: { id }, body }, { headers: { 'idempotency-key': 'sign-1' } })
    }
    return run.id
  }

  test('removes the values and signatures of its runs, and its name from every table', async () => {
    const runId = await aSignedRun()
    const userId = await idOf(anna.localpart)
    const files = () => db.selectFrom('files').select(['id', 'name', 'created_by']).orderBy('name').execute()
    expect((await files()).map(({ name }) => name)).toContain('Signature.png')
    expect(await rowsWith('measles')).not.toEqual([])

    expect(await operator.privacy.eraseUser({ params: anna })).toMatchObject({ status: 'erased', displayName: null, roles: [] })
    await jobsDone()

    expect(await rowsWith(userId)).toEqual([])
    const [user] = await db.selectFrom('users').selectAll().where('id', '=', userId).execute()
    expect(user).toMatchObject({ display_name: null, avatar_url: null, roles: '[]', search_name: 'amarelle-member amarelle-member' })
    expect(await rowsWith('measles')).toEqual([])
    expect(await rowsWith(png.slice('data:image/png;base64,'.length, 60))).toEqual([])
    expect((await files()).map(({ name }) => name)).not.toContain('Signature.png')
    const run = await clientOf(daemon.url, tenant.head).runs.showRun({ params: { id: runId } })
    expect(run).toMatchObject({ startedBy: 'erased user', status: 'failed', failure: { code: 'CANCELLED' }, context: {} })
  })

  test('the session of the user ended, and the user cannot be changed, enabled or erased in part', async () => {
    // Within a second: each replica reads what was revoked.
    await vi.waitFor(() => expect(clientOf(daemon.url, tenant.member).profile.showProfile({})).rejects.toThrow(), 10_000)
    for (const change of [
      () => operator.users.enableUser({ params: anna }),
      () => operator.users.disableUser({ params: anna, body: { reason: 'left' } }),
      () => operator.users.changeUser({ params: anna, body: { displayName: 'Anna' } }),
      () => operator.users.resetUserPassword({ params: anna, body: { password: 'a new password' } }),
    ])
      await expect(change()).rejects.toThrow(/is erased/)
    await expect(operator.users.createUser({ params: { slug: 'ahorn' }, body: { localpart: anna.localpart } })).rejects.toThrow(/exists/)
  })

  test('a repeat changes nothing', async () => {
    const rows = () => db.selectFrom('users').selectAll().where('localpart', '=', anna.localpart).execute()
    const before = await rows()
    await operator.privacy.eraseUser({ params: anna })
    await jobsDone()
    expect(await rows()).toEqual(before)
  })

  test('a task that the user began returns to its role before the id of the user is cleared', async () => {
    const task = await clientOf(daemon.url, tenant.head).tasks.createTask({ body: { title: 'Count', assignedRole: 'member' } })
    // An erasure that is repeated enqueues no return of tasks, so that only the erasure itself can return this one.
    const begun = { assignee_id: await idOf(anna.localpart), status: 'in_progress' } as const
    await db.updateTable('tasks').set(begun).where('id', '=', task.id).execute()
    await operator.privacy.eraseUser({ params: anna })
    await jobsDone()
    const row = await db
      .selectFrom('tasks')
      .select(['assignee_id', 'status', 'role_key'])
      .where('id', '=', task.id)
      .executeTakeFirstOrThrow()
    expect(row).toEqual({ assignee_id: null, status: 'open', role_key: 'member' })
  })

  test('files, boards and spaces stay with the space after the erasure of the user who made them', async () => {
    const head = await idOf('amarelle-head')
    const count = async () =>
      (await Promise.all([db.selectFrom('files').select('id').execute(), db.selectFrom('spaces').select('id').execute()])).map(
        ({ length }) => length,
      )
    const before = await count()
    await operator.privacy.eraseUser({ params: { slug: 'ahorn', localpart: 'amarelle-head' } })
    await jobsDone()
    expect(await rowsWith(head)).toEqual([])
    expect(await count()).toEqual(before)
    expect(await rowsWith('erased user')).not.toEqual([])
  })
})

import { expect, test } from 'vitest'
import { isProblem, type ProblemCode, secret } from '../../../src/core/kit/index.ts'
import { ensureUser, userResyncListener } from '../../../src/daemon/users/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aRoleBook, aUsersWorld } from '../../support/users-world.ts'

const refusedWith = (code: ProblemCode, why: RegExp) => (error: unknown) => isProblem(error, code) && why.test(error.message)
const of = (localpart: string) => ({ params: { slug: 'acme', localpart } })
const acme = { params: { slug: 'acme' } }
const anAccount = { password: 'his own', admin: false, locked: false, deactivated: false, displayName: null }

onBothDialects('users of a tenant', (fresh) => {
  test('a new user can log in to the chat with the password returned once, and has the default role', async () => {
    const { api, homeserver, chat } = await aUsersWorld(await fresh())
    const {
      user,
      password,
      chat: made,
    } = await api.createUser({ ...acme, body: { localpart: 'anna', displayName: 'Anna Ö', locale: 'de-AT' } })
    expect(user).toMatchObject({
      tenant: 'acme',
      matrixUserId: '@anna:acme.example',
      displayName: 'Anna Ö',
      locale: 'de-AT',
      roles: ['member'],
      status: 'active',
    })
    expect([made, chat.accounts.get('@anna:acme.example')?.password]).toEqual(['created', password])
    expect(password).toMatch(/^([0-9a-z]{4}-){3}[0-9a-z]{4}$/)
    expect(await api.showUser(of('anna'))).toEqual(user)
    expect(await homeserver.whoami(secret('none'))).toEqual({ kind: 'unknown_token' })
  })

  test('a user with an existing chat account is adopted and keeps its password', async () => {
    const { api, chat } = await aUsersWorld(await fresh())
    chat.accounts.set('@ben:acme.example', { password: 'his own', admin: false, locked: false, deactivated: false, displayName: null })
    expect(await api.createUser({ ...acme, body: { localpart: 'ben', password: 'another password' } })).toMatchObject({
      chat: 'existed',
      password: null,
    })
    expect(chat.accounts.get('@ben:acme.example')?.password).toBe('his own')
  })

  test('an existing user is not created again', async () => {
    const { api } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna', roles: ['teacher'] } })
    await expect(api.createUser({ ...acme, body: { localpart: 'anna' } })).rejects.toSatisfy(
      refusedWith('ALREADY_EXISTS', /User anna of acme already exists/),
    )
    expect((await api.showUser(of('anna'))).roles).toEqual(['teacher'])
  })

  test('without its chat server no user is created, and the problem has Retry-After', async () => {
    const { api, chat, db } = await aUsersWorld(await fresh())
    chat.state.fence = true
    await expect(api.createUser({ ...acme, body: { localpart: 'anna' } })).rejects.toSatisfy(
      (error) =>
        refusedWith('HOMESERVER_UNREACHABLE', /chat server of acme/)(error) &&
        (error as { retryAfterSeconds?: number }).retryAfterSeconds === 10,
    )
    expect(await db.selectFrom('users').selectAll().execute()).toEqual([])
    chat.state.fence = false
    expect(await api.createUser({ ...acme, body: { localpart: 'anna' } })).toMatchObject({ chat: 'created' })
  })

  test.each([
    [{ localpart: 'Anna' }, /lower-case/],
    [{ localpart: '_anna' }, /lower-case/],
    [{ localpart: '12345' }, /digits alone/],
    [{ localpart: '..' }, /dots alone/],
    [{ localpart: 'tenantry-probe' }, /reserved for the platform/],
    [{ localpart: 'tenantry.admin' }, /reserved for the platform/],
    [{ localpart: 'anna', roles: ['boss'] }, /unknown role boss/],
    [{ localpart: 'anna', roles: ['__proto__'] }, /roles/],
    [{ localpart: 'anna', roles: ['constructor'] }, /unknown role constructor/],
    [{ localpart: 'anna', roles: [] }, /at least one role/],
    [{ localpart: 'anna', roles: ['member', 'member'] }, /twice/],
    [{ localpart: 'anna', password: 'short' }, /at least 8/],
    [{ localpart: 'anna', password: 'ä'.repeat(37) }, /72 bytes/],
    [{ localpart: 'anna', locale: 'german' }, /language tag/],
    [{ localpart: 'anna', displayName: 'a\u202eb' }, /control characters/],
  ])('%j is refused before anything is created', async (body, why) => {
    const { api, chat } = await aUsersWorld(await fresh())
    await expect(api.createUser({ ...acme, body: body as never })).rejects.toSatisfy(refusedWith('VALIDATION', why))
    expect(chat.accounts.size).toBe(0)
  })

  test('users are listed by name, in pages, of one tenant only', async () => {
    const { api, db, tenantId } = await aUsersWorld(await fresh())
    for (const localpart of ['cem', 'anna', 'ben']) await api.createUser({ ...acme, body: { localpart } })
    const other = {
      id: 'ten_other',
      slug: 'other',
      chat_domain: 'other.example',
      name: 'Other',
      plan: 'light',
      status: 'active',
      created_at: '2026-01-01T00:00:00.000Z',
    } as const
    await db.insertInto('tenants').values(other).execute()
    const row = await db
      .selectFrom('users')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('localpart', '=', 'anna')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('users')
      .values({ ...row, id: 'usr_other', tenant_id: 'ten_other' })
      .execute()
    const first = await api.listUsers({ ...acme, query: { limit: 2 } })
    expect([first.users.map(({ localpart }) => localpart), first.nextCursor]).toEqual([['anna', 'ben'], 'ben'])
    const second = await api.listUsers({ ...acme, query: { limit: 2, cursor: 'ben' } })
    expect([second.users.map(({ localpart }) => localpart), second.nextCursor]).toEqual([['cem'], null])
    expect((await api.listUsers({ ...acme, query: { status: 'disabled' } })).users).toEqual([])
    await expect(api.listUsers({ params: { slug: 'nobody' } })).rejects.toSatisfy(refusedWith('NOT_FOUND', /Tenant nobody does not exist/))
    await expect(api.showUser({ params: { slug: 'other', localpart: 'ben' } })).rejects.toSatisfy(
      refusedWith('NOT_FOUND', /User ben of other does not exist/),
    )
  })

  test('a change keeps unnamed fields, reaches the chat, and invalidates the caches of replicas', async () => {
    const { api, chat, work, db } = await aUsersWorld(await fresh())
    const { user } = await api.createUser({ ...acme, body: { localpart: 'anna', displayName: 'Anna', locale: 'de' } })
    const changed = await api.changeUser({ ...of('anna'), body: { roles: ['teacher'], displayName: 'Anna B.' } })
    expect(changed).toMatchObject({ displayName: 'Anna B.', locale: 'de', roles: ['teacher'] })
    expect(await api.showUser(of('anna'))).toEqual(changed)
    await work()
    expect(chat.accounts.get('@anna:acme.example')?.displayName).toBe('Anna B.')
    expect(await db.selectFrom('revocations').select(['kind', 'subject']).where('kind', '!=', 'tenant').execute()).toEqual([
      { kind: 'user', subject: user.id },
    ])
    expect(await api.changeUser({ ...of('anna'), body: { locale: null } })).toMatchObject({ locale: null, displayName: 'Anna B.' })
    await expect(api.changeUser({ ...of('anna'), body: { roles: ['boss'] } })).rejects.toSatisfy(
      refusedWith('VALIDATION', /unknown role boss/),
    )
    await expect(api.changeUser({ ...of('anna'), body: {} })).rejects.toSatisfy(refusedWith('VALIDATION', /must change something/))
  })

  test('a disabled user is locked in the chat once the fence is lifted, and unlocked again when enabled', async () => {
    const { api, chat, work, clock, db } = await aUsersWorld(await fresh())
    const { user } = await api.createUser({ ...acme, body: { localpart: 'anna' } })
    const account = () => chat.accounts.get('@anna:acme.example')
    chat.state.fence = true
    expect(await api.disableUser({ ...of('anna'), body: { reason: 'left the school' } })).toMatchObject({ status: 'disabled' })
    await work()
    expect(account()?.locked).toBe(false)
    chat.state.fence = false
    await clock.advance(60_000)
    await work()
    expect(account()?.locked).toBe(true)
    expect(await api.disableUser({ ...of('anna'), body: { reason: 'again' } })).toMatchObject({ status: 'disabled' })
    expect(await db.selectFrom('revocations').select(['kind', 'subject']).where('kind', '!=', 'tenant').execute()).toEqual([
      { kind: 'user', subject: user.id },
    ])
    expect(await api.enableUser(of('anna'))).toMatchObject({ status: 'active' })
    await work()
    expect(account()?.locked).toBe(false)
    const audit = await db.selectFrom('audit').select(['action', 'subject']).where('subject', '=', 'acme/anna').orderBy('seq').execute()
    expect(audit.map(({ action }) => action)).toEqual(['user.created', 'user.disabled', 'user.enabled'])
    const events = await db.selectFrom('events').select('event_type').where('stream', 'like', 'tenant:%').orderBy('seq').execute()
    expect(events.map(({ event_type }) => event_type)).toEqual(['user.created', 'user.disabled', 'user.enabled'])
  })

  test('the lock of a user is retried as long as its chat server is down', async () => {
    const { api, chat, work, clock, db } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna' } })
    await api.disableUser({ ...of('anna'), body: { reason: 'left the school' } })
    chat.state.down = true
    for (let tried = 0; tried < 14; tried++) {
      await work()
      await clock.advance(2 * 3_600_000)
    }
    expect(await db.selectFrom('jobs').select(['status', 'attempts']).execute()).toEqual([{ status: 'queued', attempts: 0 }])
    chat.state.down = false
    await work()
    expect(chat.accounts.get('@anna:acme.example')?.locked).toBe(true)
  })

  test('a restore syncs the locks of users that were disabled or enabled since', async () => {
    const { api, chat, work, db, clock, random, box } = await aUsersWorld(await fresh())
    const names = Array.from({ length: 3 }, (_, n) => `user${n}`)
    const known = { clock, random, roles: aRoleBook }
    for (const localpart of ['anna', 'ben', ...names])
      await db.transaction().execute((tx) => ensureUser(known, tx, { tenantId: box.tenantId, localpart }))
    for (const localpart of ['anna', 'ben']) chat.accounts.set(`@${localpart}:acme.example`, { ...anAccount, locked: false })
    await clock.advance(1000)
    for (const localpart of ['anna', 'ben', ...names]) await api.disableUser({ ...of(localpart), body: { reason: 'left' } })
    await api.enableUser(of('ben'))
    await work()
    const locked = () => ['anna', 'ben'].map((localpart) => chat.accounts.get(`@${localpart}:acme.example`)?.locked)
    expect(locked()).toEqual([true, false])
    for (const outcome of ['failed', 'restored'] as const) {
      chat.accounts.set('@anna:acme.example', { ...anAccount, locked: false })
      chat.accounts.set('@ben:acme.example', { ...anAccount, locked: true })
      const restore = userResyncListener({ clock }).resultHandlers?.['tenant-box.restore']
      await db.transaction().execute(async (tx) => restore?.(tx, { boxId: box.id } as never, { outcome } as never))
      await work()
      expect(locked()).toEqual(outcome === 'restored' ? [true, false] : [false, true])
    }
    expect(await db.selectFrom('jobs').selectAll().execute()).toEqual([])
  })

  test('with concurrent changes the chat ends in the state of the database', async () => {
    const { api, chat, work, homeservers, db, clock } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'anna' } })
    await api.disableUser({ ...of('anna'), body: { reason: 'by mistake' } })
    // While the lock is being sent, the user is enabled, and that is sent first.
    const { userSyncJobs } = await import('../../../src/daemon/users/index.ts')
    const slow = {
      of: (tenantId: never) => ({
        ...homeservers.of(tenantId),
        setLocked: async (ask: { localpart: string; locked: boolean }) => {
          if (ask.locked) await api.enableUser(of('anna'))
          if (ask.locked) await homeservers.of(tenantId).setLocked({ ...ask, locked: false })
          return homeservers.of(tenantId).setLocked(ask)
        },
      }),
    }
    const { id } = await api.showUser(of('anna'))
    await userSyncJobs({ db, clock, homeservers: slow as never })['chat.user-lock']?.({ userId: id }, { last: false })
    expect(chat.accounts.get('@anna:acme.example')?.locked).toBe(false)
    await work()
    expect(chat.accounts.get('@anna:acme.example')?.locked).toBe(false)
  })

  test('a user with a name that only chat servers create can be disabled like any other', async () => {
    const { api, db, tenantId, clock, random } = await aUsersWorld(await fresh())
    for (const localpart of ['_bridge', '4711', 'a'.repeat(200)]) {
      await db.transaction().execute((tx) => ensureUser({ clock, random, roles: aRoleBook }, tx, { tenantId, localpart }))
      expect(await api.showUser(of(localpart))).toMatchObject({ localpart, status: 'active' })
      expect(await api.disableUser({ ...of(localpart), body: { reason: 'left' } })).toMatchObject({ status: 'disabled' })
    }
  })

  test('a user known only to the chat gets the default role at its first login, once under concurrent logins', async () => {
    const { db, tenantId, clock, random } = await aUsersWorld(await fresh())
    const first = () =>
      db.transaction().execute((tx) => ensureUser({ clock, random, roles: aRoleBook }, tx, { tenantId, localpart: 'new' }))
    const made = await Promise.all([first(), first(), first()])
    expect(new Set(made.map(({ user }) => user.id)).size).toBe(1)
    expect(made.filter((one) => one.made)).toHaveLength(1)
    expect(made[0]?.user).toMatchObject({ roles: ['member'], status: 'active' })
    const told = await db.selectFrom('events').select(['event_type', 'payload', 'audience']).where('tenant_id', '=', tenantId).execute()
    const userId = made[0]?.user.id
    const audience = JSON.stringify({ users: [userId], capability: 'readContacts' })
    expect(told).toEqual([{ event_type: 'user.created', payload: JSON.stringify({ userId }), audience }])
  })
})

import { expect, test } from 'vitest'
import { isProblem } from '../../../src/core/kit/index.ts'
import { importUsers } from '../../../src/daemon/users/import-users.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { inBetween, onBothDialects } from '../../support/databases.ts'
import { aUsersWorld } from '../../support/users-world.ts'

const acme = { params: { slug: 'acme' } }
const file = [
  'username;displayName;roles;locale',
  'anna;Anna Ö;teacher member;de',
  'Ben;"=SUM(A1)";;',
  'admin;Boss;;',
  'tenantry-probe;;;',
  '12345;;;',
  'anna;Twice;;',
  'cem;;boss;',
  'dora;;;german',
  '_eva;;;',
].join('\r\n')

onBothDialects('an import of users', (fresh) => {
  const outcomes = (lines: readonly { line: number; localpart: string; outcome: string }[]) =>
    lines.map(({ line, localpart, outcome }) => `${line} ${localpart} ${outcome}`)

  test('a dry run reports what would be done and changes nothing', async () => {
    const { api, chat, db } = await aUsersWorld(await fresh())
    const report = await api.importUsers({ ...acme, body: { csv: `\ufeff${file}`, dryRun: true } })
    expect(outcomes(report.lines)).toEqual([
      '2 anna would_create',
      '3 ben would_create',
      '4 admin refused',
      '5 tenantry-probe refused',
      '6 12345 refused',
      '7 anna refused',
      '8 cem refused',
      '9 dora refused',
      '10 _eva refused',
    ])
    expect(report.lines.slice(2).map(({ reason }) => reason)).toEqual([
      'username is reserved',
      'username is reserved',
      expect.stringContaining('digits alone'),
      'username is on line 2 already',
      'roles: there is no role boss',
      expect.stringContaining('language tag'),
      expect.stringContaining('not starting with _'),
    ])
    expect(report).toMatchObject({ dryRun: true, counts: { would_create: 2, refused: 7, created: 0 }, passwords: {}, nextLine: null })
    expect([chat.asked.length, (await db.selectFrom('users').selectAll().execute()).length]).toEqual([0, 0])
  })

  test('creates new users with the given or a generated password, and changes no existing user', async () => {
    const { api, chat } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'ben', displayName: 'Ben', password: 'his password' } })
    chat.accounts.set('@cora:acme.example', { password: 'her own', admin: false, locked: false, deactivated: false, displayName: null })
    const csv = 'username,displayName,roles\nanna,Anna,teacher\nben,Other,tenant-admin\ncora,,\ndora,,\n'
    const report = await api.importUsers({ ...acme, body: { csv, dryRun: false, passwords: { anna: 'given password' } } })
    expect(outcomes(report.lines)).toEqual(['2 anna created', '3 ben existed', '4 cora adopted', '5 dora created'])
    expect(Object.keys(report.passwords)).toEqual(['dora'])
    const password = (localpart: string) => chat.accounts.get(chat.id(localpart))?.password
    expect(['anna', 'ben', 'cora', 'dora'].map(password)).toEqual(['given password', 'his password', 'her own', report.passwords.dora])
    expect(await api.showUser({ params: { slug: 'acme', localpart: 'ben' } })).toMatchObject({ displayName: 'Ben', roles: ['member'] })
    expect(await api.showUser({ params: { slug: 'acme', localpart: 'anna' } })).toMatchObject({ displayName: 'Anna', roles: ['teacher'] })
    const again = await api.importUsers({ ...acme, body: { csv, dryRun: false } })
    expect(again).toMatchObject({ counts: { existed: 4, created: 0 }, passwords: {} })
  })

  test('corrects names of existing users on request alone, with an audit record for each', async () => {
    const { api, chat, db, work } = await aUsersWorld(await fresh())
    await api.createUser({ ...acme, body: { localpart: 'joerg', displayName: 'J\ufffdrg', roles: ['teacher'] } })
    await api.createUser({ ...acme, body: { localpart: 'ben', displayName: 'Ben' } })
    const csv = 'username,displayName,roles\njoerg,J\u00f6rg,\nben,,\ncora,Cora,\n'
    const plain = await api.importUsers({ ...acme, body: { csv, dryRun: true } })
    expect(plain.lines[0]).toMatchObject({ outcome: 'existed', reason: 'has the name "J\ufffdrg", in the file "J\u00f6rg"' })
    const preview = await api.importUsers({ ...acme, body: { csv, dryRun: true, update: ['names'] } })
    expect(outcomes(preview.lines)).toEqual(['2 joerg would_update', '3 ben existed', '4 cora would_create'])
    expect(preview.lines[0]?.reason).toBe('name "J\ufffdrg" becomes "J\u00f6rg"')
    const report = await api.importUsers({ ...acme, body: { csv, dryRun: false, update: ['names'] } })
    expect(outcomes(report.lines)).toEqual(['2 joerg updated', '3 ben existed', '4 cora created'])
    await work()
    expect(chat.accounts.get(chat.id('joerg'))?.displayName).toBe('J\u00f6rg')
    expect(await api.showUser({ params: { slug: 'acme', localpart: 'joerg' } })).toMatchObject({
      displayName: 'J\u00f6rg',
      roles: ['teacher'],
    })
    const audited = await db.selectFrom('audit').select(['subject', 'data']).where('action', '=', 'user.changed').execute()
    expect(audited.map(({ subject, data }) => [subject, JSON.parse(data)])).toEqual([['acme/joerg', { displayName: 'J\u00f6rg' }]])
    expect((await api.importUsers({ ...acme, body: { csv, dryRun: false, update: ['names'] } })).counts).toMatchObject({
      updated: 0,
      existed: 3,
    })
  })

  test('a disabled and an erased user of a name are outcomes of their own, and stay as they are', async () => {
    const { api, db } = await aUsersWorld(await fresh())
    for (const localpart of ['kid', 'ben']) await api.createUser({ ...acme, body: { localpart } })
    await api.disableUser({ params: { slug: 'acme', localpart: 'kid' }, body: { reason: 'left' } })
    await db.updateTable('users').set({ status: 'erased' }).where('localpart', '=', 'ben').execute()
    const csv = 'username,displayName\nkid,Kid 2\nben,Ben Neu\n'
    for (const dryRun of [true, false]) {
      const report = await api.importUsers({ ...acme, body: { csv, dryRun, update: ['names'] } })
      expect(outcomes(report.lines)).toEqual(['2 kid disabled', '3 ben erased'])
      expect(report.lines.map(({ reason }) => reason)).toEqual([
        expect.stringContaining('`tenantry users enable acme kid`'),
        expect.stringContaining('choose another username'),
      ])
    }
    await expect(api.createUser({ ...acme, body: { localpart: 'kid' } })).rejects.toThrow(/disabled.*`tenantry users enable acme kid`/)
    await expect(api.createUser({ ...acme, body: { localpart: 'ben' } })).rejects.toThrow(/erased.*choose another name/)
  })

  test('stops when the chat server becomes unreachable, and continues from there', async () => {
    const { api, chat } = await aUsersWorld(await fresh())
    const names = Array.from({ length: 10 }, (_, number) => `user${number}`)
    const csv = ['username', ...names].join('\n')
    const asked = chat.asked.length
    const watching = setInterval(() => {
      if (chat.asked.length > asked + 12) chat.state.fence = true
    }, 1)
    const first = await api.importUsers({ ...acme, body: { csv, dryRun: false } }).finally(() => clearInterval(watching))
    chat.state.fence = true
    if (first.nextLine !== null) {
      expect(first.stopped).toMatch(/chat server of acme/)
      await expect(api.importUsers({ ...acme, body: { csv, dryRun: false, fromLine: first.nextLine } })).rejects.toSatisfy((error) =>
        isProblem(error, 'HOMESERVER_UNREACHABLE'),
      )
    }
    chat.state.fence = false
    const second = await api.importUsers({ ...acme, body: { csv, dryRun: false, fromLine: first.nextLine ?? 2 } })
    expect(second.nextLine).toBeNull()
    expect((await api.listUsers(acme)).users.map(({ localpart }) => localpart)).toEqual(names)
  })

  test('an interrupted import returns the passwords of all accounts it created', async () => {
    const { api, chat, db, ...world } = await aUsersWorld(await fresh())
    let left = 2
    const failing = new Proxy(db, {
      get: (of, key) => {
        if (key === 'transaction' && left-- <= 0) throw new Error('the database is away')
        const value = Reflect.get(of, key)
        return typeof value === 'function' ? value.bind(of) : value
      },
    })
    const wanted = { slug: 'acme', csv: 'username\nanna\nben\ncora\ndora\neva\n', dryRun: false, fromLine: 1 }
    const first = await importUsers({ ...world, db: failing }, anOperator, wanted)
    expect([first.counts.created, first.stopped]).toEqual([2, 'internal error of the platform'])
    const inChat = [...chat.accounts].map(([id, { password }]) => [id.slice(1).split(':')[0], password])
    expect(first.passwords).toEqual(Object.fromEntries(inChat.filter(([localpart]) => /^(anna|ben|cora|dora)$/.test(`${localpart}`))))
    expect(Object.keys(first.passwords)).toHaveLength(4)
    const second = await api.importUsers({ ...acme, body: { csv: wanted.csv, dryRun: false, fromLine: first.nextLine as number } })
    expect(second).toMatchObject({ counts: { adopted: 2, created: 1 }, nextLine: null })
    const third = await importUsers({ ...world, db: failing }, anOperator, { ...wanted, csv: 'username\nfay\n' })
    expect(third).toMatchObject({ lines: [], nextLine: 2, passwords: { fay: chat.accounts.get('@fay:acme.example')?.password } })
  })

  test('an import that exceeds its time limit returns the line to continue from', async () => {
    const { api, clock, chat } = await aUsersWorld(await fresh())
    const csv = ['username', ...Array.from({ length: 9 }, (_, number) => `user${number}`)].join('\n')
    const push = chat.asked.push.bind(chat.asked)
    chat.asked.push = (...more) => {
      clock.advance(6000)
      return push(...more)
    }
    const first = await api.importUsers({ ...acme, body: { csv, dryRun: false } })
    expect([first.counts.created, first.nextLine, first.stopped]).toEqual([4, 6, null])
    const second = await api.importUsers({ ...acme, body: { csv, dryRun: false, fromLine: 6 } })
    expect([second.counts.created, second.nextLine]).toEqual([4, 10])
  })

  test.each([
    ['', /empty/],
    ['name\nanna', /no column has the usernames.*"name"/],
    ['username,password\nanna,x', /does not use the columns password/],
    ['username,username\nanna,ben', /names the column "username" twice/],
    ['username\nanna,ben', /line 2 has 2 cells/],
    ['username\n"anna', /csv: a cell begins with a quotation mark/],
    [['username', ...Array.from({ length: 10_001 }, (_, n) => `u${n}`)].join('\n'), /more than 10000 lines/],
    [`username\n${'x'.repeat(5_000_000)}`, /5 MB/],
    [`username\n${'ä'.repeat(2_600_000)}`, /5 MB/],
  ])('an invalid file is refused as a whole (%#)', async (csv, why) => {
    const { api } = await aUsersWorld(await fresh())
    await expect(api.importUsers({ ...acme, body: { csv, dryRun: true } })).rejects.toSatisfy(
      (error) => isProblem(error, 'VALIDATION') && why.test(error.message),
    )
  })

  test('of two concurrent imports each returns the passwords of the accounts it created', async () => {
    const room = await aUsersWorld(await fresh())
    const { db, chat } = room
    // The other import finds the account and registers the user first.
    const other = () => importUsers(room, anOperator, { slug: 'acme', csv: 'username\nanna\n', dryRun: false, fromLine: 1 })
    let adopted: Awaited<ReturnType<typeof other>> | undefined
    const meanwhile = inBetween(db, async () => {
      adopted = await other()
    })
    const given = { anna: 'a password on the disk' }
    const wanted = { slug: 'acme', csv: 'username\nanna\n', dryRun: false, fromLine: 1, passwords: given }
    const report = await importUsers({ ...room, db: meanwhile }, anOperator, wanted)
    expect(outcomes(adopted?.lines ?? [])).toEqual(['2 anna adopted'])
    expect(outcomes(report.lines)).toEqual(['2 anna created'])
    expect(chat.accounts.get('@anna:acme.example')?.password).toBe(given.anna)
  })
})

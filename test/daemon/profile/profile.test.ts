import { expect, test } from 'vitest'
import { eventsAfter } from '../../../src/daemon/db/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aTasksWorld, codeOf, type TasksWorld } from '../../support/tasks-world.ts'

onBothDialects('profile', (fresh) => {
  const room = async () => aTasksWorld(await fresh())
  const topics = async ({ db }: TasksWorld) => (await db.selectFrom('jobs').select('topic').execute()).map(({ topic }) => topic)
  const told = async ({ db }: TasksWorld) =>
    (await eventsAfter(db, { stream: 'tenant:ten_one', after: 0 })).map(({ eventType }) => eventType)

  test('a user changes its profile; unnamed fields stay, and the chat gets the name', async () => {
    const one = await room()
    const anna = one.as('anna')
    const own = { userId: 'anna', matrixUserId: '@anna:chat.one.example' }
    expect(await anna.showProfile()).toEqual({ ...own, displayName: null, avatarUrl: null, locale: null })
    const avatarUrl = 'mxc://chat.one.example/AbC_1-2'
    expect(await anna.changeProfile({ body: { displayName: ' Anna ', avatarUrl } })).toEqual({
      ...{ ...own, displayName: 'Anna', avatarUrl, locale: null },
    })
    expect([await topics(one), await told(one)]).toEqual([['chat.user-name'], ['user.contact_changed', 'user.profile_changed']])
    expect(await anna.changeProfile({ body: { locale: 'de-AT', avatarUrl: null } })).toEqual({
      ...{ ...own, displayName: 'Anna', avatarUrl: null, locale: 'de-AT' },
    })
    expect(await topics(one)).toEqual(['chat.user-name'])
    expect((await one.as('ben').showProfile()).displayName).toBeNull()
  })

  test('an unchanged value is neither stored nor published', async () => {
    const one = await room()
    await one.as('anna').changeProfile({ body: { locale: 'de' } })
    await one.as('anna').changeProfile({ body: { locale: 'de' } })
    expect(await told(one)).toEqual(['user.profile_changed'])
  })

  test.each([
    [{}, 'VALIDATION'],
    [{ roles: ['head'] }, 'VALIDATION'],
    [{ displayName: '' }, 'VALIDATION'],
    [{ displayName: 'a\u202eb' }, 'VALIDATION'],
    [{ displayName: 'x'.repeat(101) }, 'VALIDATION'],
    [{ displayName: null }, 'ok'],
    [{ locale: 'German' }, 'VALIDATION'],
    [{ locale: 'zh-Hant-TW' }, 'ok'],
    [{ avatarUrl: 'javascript:alert(1)' }, 'VALIDATION'],
    [{ avatarUrl: 'http://example.org/a.png' }, 'VALIDATION'],
    [{ avatarUrl: 'https://name:word@example.org/a.png' }, 'VALIDATION'],
    [{ avatarUrl: 'https://example.org/a.png' }, 'ok'],
    [{ avatarUrl: 'mxc://example.org/../x' }, 'VALIDATION'],
    [{ avatarUrl: `https://example.org/${'x'.repeat(500)}` }, 'VALIDATION'],
  ])('%j is %s', async (body, code) => {
    expect(await codeOf((await room()).as('anna').changeProfile({ body: body as never }))).toBe(code)
  })

  test('permissions are those of the current record', async () => {
    const one = await room()
    expect(await one.as('mia').showPermissions()).toEqual({ roles: ['head'], permissions: ['manageBoards', 'manageRuns', 'manageUsers'] })
    await one.db.updateTable('users').set({ roles: '["member","of-old"]' }).where('id', '=', 'mia').execute()
    expect(await one.as('mia').showPermissions()).toEqual({ roles: ['member', 'of-old'], permissions: [] })
  })

  test('a user disabled meanwhile changes nothing', async () => {
    const one = await room()
    await one.db.updateTable('users').set({ status: 'disabled' }).where('id', '=', 'anna').execute()
    expect(await codeOf(one.as('anna').changeProfile({ body: { locale: 'de' } }))).toBe('UNAUTHENTICATED')
    expect(await told(one)).toEqual([])
  })
})

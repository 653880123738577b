import { expect, test } from 'vitest'
import type { PlatformPrincipal } from '../../../src/core/kit/index.ts'
import { type Db, enqueueJob } from '../../../src/daemon/db/index.ts'
import { noticeJob, noticesFeature } from '../../../src/daemon/notices/index.ts'
import { drainJobs } from '../../../src/daemon/work/index.ts'
import { onBothDialects } from '../../support/databases.ts'
import { aSpacesWorld } from '../../support/spaces-world.ts'

async function aWorld(db: Db) {
  const world = await aSpacesWorld(db)
  const handlers = noticesFeature.jobs?.(world) ?? {}
  const work = () => drainJobs({ db, clock: world.clock, log: world.log, handlers })
  const enqueue = (
    asked: { userId: string } | { role: string },
    { kind = 'task' as 'task' | 'checkpoint', by = null as string | null } = {},
  ) => {
    const notice = { tenantId: world.tenantId, kind, at: world.clock.now().toISOString(), ...asked }
    return db.transaction().execute((tx) => enqueueJob(tx, world.clock, noticeJob(notice, by)))
  }
  const ask: typeof enqueue = async (...of) => {
    await enqueue(...of)
    await work()
  }
  const change = (user: PlatformPrincipal, set: Readonly<Record<string, string>>) =>
    db.updateTable('users').set(set).where('id', '=', user.userId).execute()
  return { ...world, enqueue, work, ask, change, messages: world.chat.rooms.messages }
}

onBothDialects('a notice of a task', (fresh) => {
  test('is written by the bot into one room of each user, in the language of the user', async () => {
    const { aUser, ask, change, messages, chat } = await aWorld(await fresh())
    const [anna, ben] = [await aUser('anna'), await aUser('ben')]
    await change(ben, { locale: 'de-AT' })
    for (const user of [anna, ben]) await ask({ userId: user.userId })
    await ask({ userId: ben.userId }, { kind: 'checkpoint' })
    const [first, second, third] = messages()
    expect(messages()).toHaveLength(3)
    expect(third?.text).toMatch(/: Ihre Freigabe wird gebraucht\./)
    expect([first?.text, second?.text]).toEqual([
      expect.stringMatching(/: you have a new task\. Open the app to see it\.$/),
      expect.stringMatching(/: Sie haben eine neue Aufgabe\. Öffnen Sie die App, um sie zu sehen\.$/),
    ])
    expect(first?.sender).toBe(chat.id('tenantry-bot'))
    expect(first?.roomId).not.toBe(second?.roomId)
    expect(third?.roomId).toBe(second?.roomId)
  })

  test('of a role goes to all holders but the one who made the task', async () => {
    const { aUser, ask, change, messages } = await aWorld(await fresh())
    for (const name of ['anna', 'ben', 'mia', 'tom']) {
      const user = await aUser(name)
      if (name !== 'tom') await change(user, { roles: '["teacher"]' })
      if (name === 'mia') await ask({ role: 'teacher' }, { by: user.userId })
    }
    expect(messages()).toHaveLength(2)
  })

  test('is not sent to a disabled user, to one without an account, and to one of another tenant', async () => {
    const { aUser, ask, change, messages } = await aWorld(await fresh())
    const [anna, ben] = [await aUser('anna'), await aUser('ben', { inChat: false })]
    await change(anna, { status: 'disabled' })
    for (const userId of [anna.userId, ben.userId, 'usr_nobody']) await ask({ userId })
    expect(messages()).toEqual([])
  })

  test('is one for all tasks of a minute, also for each holder of a role', async () => {
    const { aUser, enqueue, work, ask, change, messages, clock } = await aWorld(await fresh())
    for (const name of ['anna', 'ben']) await change(await aUser(name), { roles: '["teacher"]' })
    for (let task = 0; task < 20; task++) await enqueue({ role: 'teacher' })
    await work()
    await ask({ role: 'teacher' })
    expect(messages()).toHaveLength(2)
    await clock.advance(60_000)
    await ask({ role: 'teacher' })
    expect(messages()).toHaveLength(4)
  })

  test('is not sent an hour later', async () => {
    const { aUser, enqueue, work, messages, clock } = await aWorld(await fresh())
    await enqueue(await aUser('anna'))
    await clock.advance(62 * 60_000)
    await work()
    expect(messages()).toEqual([])
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMessages } from '../testbed/matrix-client.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse } from './support/conversation.ts'
import { type Fleet, logOnFailure, startFleet } from './support/fleet.ts'
import { eventually } from './support/programs.ts'

// The programs as they are shipped: a moment of a box is restored by its operator.
describe.skipIf(!testbedExists())('an operator restores a moment of a box', () => {
  const slug = `pitr-ost-${process.pid}`
  let fleet: Fleet
  let talk: Conversation
  let before: string

  beforeAll(async () => {
    fleet = await startFleet({ TENANTRY_SNAPSHOTS_ARCHIVE_PRO: 'on' })
    await fleet.applySynapse('1.157.1')
    talk = await converse(await fleet.provision(slug, 'pro'), 5)
    await fleet.must('snapshots', 'take', slug, '--wait')
  })
  logOnFailure(() => fleet)
  afterAll(() => fleet?.end())

  /** An agent that starts asks for its orders and stores what is new at once; the one that runs does so once a minute, or less often. */
  const nextAgent = async () => {
    await fleet.agent.kill()
    fleet.agent.start()
  }
  const archive = async () => (await fleet.api.boxes.showBox({ params: { slug } })).archive
  const stored = (at: string) =>
    eventually('the store has all until then', async () => {
      const { from = null, to = null, error = null } = (await archive()) ?? {}
      expect(error).toBeNull()
      return from !== null && to !== null && to >= at
    })

  test('the agent begins the archive of a box whose tier has one, and the box shows how far it is', async () => {
    await stored(new Date().toISOString())
    before = new Date().toISOString()
    const { stdout } = await fleet.must('boxes', 'show', slug)
    expect(stdout).toMatch(/archive +up to .*, from /)
  })

  test('a moment that is not in it is refused with those that are', async () => {
    const { stderr, exitCode } = await fleet.tenantry(
      'snapshots',
      'restore',
      slug,
      '--to',
      '2020-01-01 00:00',
      '--reason',
      'a test',
      '--yes',
    )
    expect(stderr).toMatch(/does not have 2020-01-01 00:00:00Z; it has .* to /)
    expect(exitCode).not.toBe(0)
  })

  test('what was said after the moment is gone, and what was there before is back', async () => {
    const mistake = 'said by mistake'
    await talk.say(mistake)
    await nextAgent()
    await stored(new Date().toISOString())
    const ran = await fleet.must('snapshots', 'restore', slug, '--to', before, '--reason', 'a mistake', '--yes', '--wait')
    expect(ran.stderr).toMatch(/Recovers .*: a base of .* parts? of the log/)
    expect(ran.stdout).toContain(`${slug} is restored and verified`)
    const said = (await readMessages(talk.ben, talk.roomId)).map(({ body }) => body)
    expect(said).toContain(`message 5 of ${slug}`)
    expect(said).not.toContain(mistake)
    const { snapshots } = (await fleet.must('snapshots', 'list', '--slug', slug, '--kind', 'recovered', '--json')).json<{
      snapshots: { takenAt: string }[]
    }>()
    expect(snapshots.map(({ takenAt }) => takenAt)).toEqual([before])
  })
})

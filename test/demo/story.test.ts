import { describe, expect, test } from 'vitest'
import { simulatedFleet } from '../../src/demo/fleet.ts'
import { demoOptions } from '../../src/demo/options.ts'
import { closing, commands, opening } from '../../src/demo/story.ts'
import { aRollout } from '../support/records.ts'

const counts = { ...aRollout().counts, succeeded: 20 }
const fence = { boxes: 21, sumMs: 70_000, medianMs: 3_000, worstMs: 10_000, worstSlug: 'realschule-am-see', expectedMedianMs: 0 }
const phases = [1, 5, 0, 8].map((boxes) => ({ boxes })) as Parameters<typeof closing>[0]['phases']
const seen = (status: 'paused' | 'pro' | 'done') =>
  closing({ fleet: simulatedFleet, rollout: aRollout({ status, counts }), fence, phases, restoredInMs: 2_000 })

describe('the story of the demo', () => {
  test('introduces box, canary and fence in one line each', () => {
    for (const word of ['box', 'canary', 'fence'])
      expect(
        opening(simulatedFleet)
          .split('\n')
          .filter((line) => line.startsWith(`  ${word} `)),
      ).toHaveLength(1)
  })

  test('says that users need real boxes', () => {
    expect(opening(simulatedFleet)).toContain('Simulated boxes have no chat server: users, boards and the marketplace need')
    expect(opening({ ...simulatedFleet, simulated: false })).not.toContain('Simulated boxes')
  })

  test('ends with what was seen, with the measured durations', () => {
    expect(seen('paused')).toContain('one box first, then 2 further phases')
    expect(seen('paused')).toContain('20 boxes went from Synapse 1.157.1 to 1.163.2')
    expect(seen('paused')).toContain('about 3 s (realschule-am-see: 10 s)')
    expect(seen('paused')).toContain('restored 1.157.1 in 2 s')
    expect(seen('paused')).toContain('3 boxes of the last phase still run 1.157.1')
  })

  test('a person who left the board early reads that the rollout continues', () => {
    expect(seen('pro').trim()).toBe('The rollout continues with phase pro; 20 of 24 boxes are updated.')
  })

  test('its commands start at once: npx would build the project first', () => {
    const link = { consoleLink: 'http://127.0.0.1:8440/console/login#token=x', password: 'p' }
    const text = commands({ url: 'http://127.0.0.1:8440', token: 'tnt_x', id: 'ro_x', unlucky: 'realschule-am-see', ...link })
    expect(text).toContain(link.consoleLink)
    expect(text).not.toContain('npx')
    expect(text).toMatch(/alias tenantry="node '.*\/bin\/tenantry\.js'"/)
  })
})

describe('its options', () => {
  test.each([
    [[], { docker: false, exit: false, help: false, port: undefined }],
    [['--docker'], { docker: true, exit: false, help: false, port: undefined }],
    [['--exit', '--port', '9000'], { docker: false, exit: true, help: false, port: 9000 }],
  ])('%j', (args, options) => expect(demoOptions(args)).toEqual(options))

  test.each([['--prot'], ['--port=0'], ['--port=x'], ['--port=70000']])('%s is refused', (arg) =>
    expect(() => demoOptions([arg])).toThrow(expect.objectContaining({ code: 'USAGE' })),
  )
})

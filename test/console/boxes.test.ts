import { describe, expect, test } from 'vitest'
import { adoptCommand, importCommand, moveCommand, removeCommand, whyNotMoved } from '../../src/console/boxes/commands.ts'
import { sizeChart } from '../../src/console/boxes/size-lines.ts'
import type { BoxSizes } from '../../src/core/boxes/index.ts'

const sizes = (day: string, change: Partial<BoxSizes> = {}): BoxSizes => ({
  ...{ day, databaseBytes: null, mediaBytes: null, objectBytes: null },
  ...change,
})
const area = { width: 100, height: 10 }

describe('the sizes of a box', () => {
  test('a day without a size breaks its line', () => {
    const chart = sizeChart(
      [
        sizes('2026-01-01', { databaseBytes: 50 }),
        sizes('2026-01-02', { databaseBytes: 100 }),
        sizes('2026-01-03', { mediaBytes: 25 }),
        sizes('2026-01-05', { databaseBytes: 100, mediaBytes: 0 }),
      ],
      area,
    )
    expect(chart).toEqual({
      ...{ maxBytes: 100, from: '2026-01-01', to: '2026-01-05' },
      lines: [
        { part: 'databaseBytes', runs: ['0,5 25,0', '100,0'], lastBytes: 100 },
        { part: 'mediaBytes', runs: ['50,7.5', '100,10'], lastBytes: 0 },
      ],
    })
  })

  test('one day is no course', () => {
    expect(sizeChart([], area)).toBeUndefined()
    expect(sizeChart([sizes('2026-01-01', { databaseBytes: 50 })], area)).toBeUndefined()
  })
})

describe('commands', () => {
  test('a move names its host, its reason as one argument, and what was declared', () => {
    expect(moveCommand('linden', { to: 'host-2' }, "it's full")).toBe("tenantry boxes move linden --to host-2 --reason 'it'\\''s full'")
    expect(moveCommand('linden', { to: '', oldHostIsDead: 'host-1', stoppedOnNewHost: true }, '…')).toBe(
      "tenantry boxes move linden --to <host> --reason '…' --old-host-is-dead host-1 --stopped-on-new-host",
    )
  })

  test('a removal names the data that it erases, or the host that is gone', () => {
    expect(removeCommand('linden', { isNow: true, deadHost: undefined }, 'left')).toBe("tenantry boxes remove linden --now --reason 'left'")
    expect(removeCommand('linden', { isNow: true, deadHost: 'host-1' }, 'it burned')).toBe(
      "tenantry boxes remove linden --host-is-dead host-1 --reason 'it burned'",
    )
  })

  test('an import names what the box may lack', () => {
    expect(importCommand('linden', [], '--plan')).toBe('tenantry boxes import linden --plan')
    expect(importCommand('linden', ['mail', "it's"], '--plan')).toBe("tenantry boxes import linden --drop 'mail,it'\\''s' --plan")
  })

  test('an adoption names what is still missing', () => {
    const fields = { slug: 'linden', folder: '/srv/linden', project: 'linden', name: 'Linden', chatDomain: '', publicUrl: '' }
    expect(adoptCommand({ ...fields, host: undefined, plan: 'pro' })).toBe(
      "tenantry boxes adopt linden --host <host> --folder /srv/linden --project linden --name 'Linden' --plan pro --domain <domain>",
    )
  })
})

test('a box that is not ready, or only observed, is not moved', () => {
  expect(whyNotMoved({ live: false, managed: false })).toBe('The box is not ready yet.')
  expect(whyNotMoved({ live: true, managed: false })).toBe('The box is only observed. Import it first.')
  expect(whyNotMoved({ live: true, managed: true })).toBeUndefined()
})

import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { describe, expect, test, vi } from 'vitest'
import { askedOnce, presentAnswer } from '../../src/console/boxes/asked-once.ts'
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

describe('a question that a dialog asks the agent', () => {
  const dialog = (client: QueryClient, queryFn: () => Promise<string>) => {
    const observer = new QueryObserver(client, { queryKey: ['asked'], queryFn, retry: false, ...askedOnce })
    return { observer, close: observer.subscribe(() => undefined), answer: () => presentAnswer(observer.getCurrentResult()) }
  }

  test('is asked anew by each dialog, whose button waits for the new answer', async () => {
    const client = new QueryClient()
    const first = dialog(client, async () => 'old')
    await vi.waitUntil(() => first.answer() === 'old')
    first.close()
    let reply: (text: string) => void = () => undefined
    const second = dialog(client, () => new Promise((resolve) => (reply = resolve)))
    await vi.waitUntil(() => second.observer.getCurrentResult().isFetching)
    expect(second.answer()).toBeUndefined()
    reply('new')
    await vi.waitUntil(() => second.answer() === 'new')
    second.close()
  })

  test('has no answer while it is asked again, nor after a failure', () => {
    expect(presentAnswer({ data: 'old', isFetching: true, error: null })).toBeUndefined()
    expect(presentAnswer({ data: 'old', isFetching: false, error: new Error('away') })).toBeUndefined()
    expect(presentAnswer({ data: 'old', isFetching: false, error: null })).toBe('old')
  })
})

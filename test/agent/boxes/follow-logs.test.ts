import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { followLogs, provision, readBoxSecrets, services } from '../../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import type { LogBatch } from '../../../src/core/boxes/index.ts'
import { isoNow } from '../../../src/core/kit/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, anAgent, aProvision } from './provisioning.ts'

type Answer = 'accepted' | 'busy' | 'ended'
const known = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

/** A box on an engine whose logs the test writes. */
async function aFollowedBox() {
  const { deps, host } = await anAgent()
  await moving(host.clock, () => provision(deps)(aContext().context, aProvision()), 10_000)
  const box = (await deps.boxes.find('oak'))!
  const written: { service: string; at: string; text: string }[] = []
  const names = new Map((await host.engine.containers(box.project)).map(({ id, service }) => [id, service]))
  const opened: { service: string; signal: AbortSignal }[] = []
  const engine: ContainerEngine = {
    ...deps.engine,
    logs: async (id) =>
      written
        .filter(({ service }) => service === names.get(id))
        .map(({ at, text }) => `${at} ${text}\n`)
        .join(''),
    followLogs: async function* (id, since, signal) {
      const service = names.get(id) ?? ''
      opened.push({ service, signal })
      for (let next = written.findIndex(({ at }) => at >= since); !signal.aborted; ) {
        const line = written[Math.max(0, next)]
        if (line === undefined || next < 0) {
          await host.clock.sleep(100, signal)
          if (next < 0) next = written.findIndex(({ at }) => at >= since)
          continue
        }
        next++
        if (line.service === service) yield `${line.at} ${line.text}`
      }
    },
  }
  const write = (text: string, service = 'synapse') => written.push({ service, text, at: isoNow(host.clock) })
  const stop = new AbortController()
  const sent: (LogBatch & { atMs: number })[] = []
  let answer: Answer = 'accepted'
  const begin = async () => {
    const context = {
      ...aContext(stop.signal).context,
      sendLines: async (batch: LogBatch) => {
        sent.push({ ...batch, atMs: host.clock.monotonicMs() })
        return answer
      },
    }
    const payload = { ...known, services: ['synapse', 'edge'] as const, lines: 10 }
    let isOver = false
    const over = followLogs({ ...deps, clock: host.clock, engine })(context, payload as never).finally(() => {
      isOver = true
    })
    await expect.poll(() => opened.length, { interval: 5 }).toBe(payload.services.length)
    return { over, isOver: () => isOver }
  }
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      await host.clock.advance(100)
      await setImmediate()
    }
  }
  const texts = () => sent.flatMap(({ lines }) => lines.map(({ service, text }) => `${service} ${text}`))
  const setAnswer = (one: Answer) => {
    answer = one
  }
  return { box, deps, host, write, begin, pass, sent, texts, stop, opened, setAnswer }
}

test('the newest lines come first, then each new line once, within about a second', async () => {
  const { write, begin, pass, texts, setAnswer, sent, host } = await aFollowedBox()
  write('old')
  await host.clock.advance(1_000)
  const { over } = await begin()
  await pass(1_000)
  expect(texts()).toEqual(['synapse old'])
  await pass(5_000)
  const writtenMs = host.clock.monotonicMs()
  write('one')
  await host.clock.advance(10)
  write('two', 'edge')
  await pass(2_000)
  expect(texts()).toEqual(['synapse old', 'synapse one', 'edge two'])
  expect(sent.find(({ lines }) => lines.some(({ text }) => text === 'one'))!.atMs - writtenMs).toBeLessThanOrEqual(1_200)
  setAnswer('ended')
  await pass(4_000)
  await over
})

test('a follower that is gone ends the reading within seconds, also when nothing is written', async () => {
  const { begin, pass, setAnswer, opened } = await aFollowedBox()
  const { over, isOver } = await begin()
  await pass(10_000)
  expect([isOver(), opened.every(({ signal }) => !signal.aborted)]).toEqual([false, true])
  setAnswer('ended')
  await pass(4_000)
  expect(isOver()).toBe(true)
  await over
  expect(opened.map(({ service }) => service).sort()).toEqual(['edge', 'synapse'])
  expect(opened.every(({ signal }) => signal.aborted)).toBe(true)
})

test('secrets of the box and tokens never leave the host', async () => {
  const { box, write, begin, pass, texts, stop } = await aFollowedBox()
  const { over } = await begin()
  await pass(500)
  const { databasePassword, edgeSecret } = { ...(await readBoxSecrets(box.project)) } as Record<string, string>
  for (const secret of [databasePassword, edgeSecret].filter(Boolean)) write(`it is ${secret}`)
  write('Authorization: Bearer syt_abcdefghijkl')
  await pass(2_000)
  stop.abort()
  await pass(1_000)
  await over
  expect(texts().at(-1)).toBe('synapse Authorization: Bearer [secret]')
  expect(
    texts()
      .slice(0, -1)
      .every((text) => text === 'synapse it is [secret]'),
  ).toBe(true)
  expect(texts().length).toBeGreaterThan(1)
})

test('a busy follower loses nothing; one that takes nothing for 20 s is given up', async () => {
  const { write, begin, pass, sent, setAnswer } = await aFollowedBox()
  const { over, isOver } = await begin()
  await pass(500)
  setAnswer('busy')
  write('kept')
  await pass(5_000)
  setAnswer('accepted')
  await pass(2_000)
  expect(sent.at(-1)!.lines.map(({ text }) => text)).toEqual(['kept'])
  setAnswer('busy')
  await pass(30_000)
  expect(isOver()).toBe(true)
  await over
})

test('a service that writes more than 64 kB a second is cut to that, and its old lines are left out', async () => {
  const { write, begin, pass, sent, stop } = await aFollowedBox()
  const { over } = await begin()
  await pass(500)
  for (let n = 0; n < 4_000; n++) write(`${n} ${'x'.repeat(400)}`)
  await pass(20_000)
  stop.abort()
  await pass(1_000)
  await over
  const busy = sent.filter(({ lines }) => lines.length > 0)
  for (const { lines } of busy) expect(lines.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(70_000)
  for (const [n, { atMs }] of busy.entries()) if (n > 0) expect(atMs - busy[n - 1]!.atMs).toBeGreaterThanOrEqual(1_000)
  expect(sent.some(({ leftOut }) => leftOut)).toBe(true)
  expect(busy.length).toBeLessThan(12)
})

test('services are measured, those that do not run without numbers', async () => {
  const { deps, host, box } = await aFollowedBox()
  await host.engine.stop(box.project, ['minio'])
  const measured = await services({ ...deps, clock: host.clock })(aContext().context, known)
  const of = (name: string) => measured.services.find(({ service }) => service === name)
  expect(measured.at).toBe(isoNow(host.clock))
  expect(of('synapse')).toMatchObject({ state: 'running', restarts: 0, cpuPercent: expect.any(Number), memoryBytes: expect.any(Number) })
  expect(of('minio')).toMatchObject({ state: 'exited', cpuPercent: null, memoryBytes: null, memoryLimitBytes: null })
})

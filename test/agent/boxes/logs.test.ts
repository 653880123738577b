import { expect, test } from 'vitest'
import { logs, provision } from '../../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../../src/agent/ports/index.ts'
import { boxCommands } from '../../../src/core/boxes/index.ts'
import { moving } from '../simulated/boxes.ts'
import { aContext, anAgent, aProvision } from './provisioning.ts'

const known = { slug: 'oak', boxId: 'box_oak', ownershipEpoch: 1 }

async function aBoxThatPrints(printed: Readonly<Record<string, string>> = {}) {
  const { deps, host } = await anAgent()
  await moving(host.clock, () => provision(deps)(aContext().context, aProvision()), 10_000)
  const box = (await deps.boxes.find('oak'))!
  const services = Object.fromEntries((await host.engine.containers(box.project)).map(({ id, service }) => [id, service]))
  const engine: ContainerEngine = {
    ...deps.engine,
    logs: async (id, lines, options) =>
      Object.keys(printed).length > 0 ? (printed[services[id] ?? ''] ?? '') : deps.engine.logs(id, lines, options),
  }
  const read = async (change: object = {}) => {
    const payload = { ...known, services: ['edge', 'synapse', 'postgres', 'minio'] as const, lines: 100, ...change }
    const result = await logs({ ...deps, engine })(aContext().context, payload as never)
    return boxCommands['tenant-box.logs'].result.parse(result).lines
  }
  return { read, host, box }
}

const at = (second: number, fraction = '') => `2026-01-01T00:00:0${second}${fraction}Z`

test('lines of several services come in the order of the engine’s clock, only of the services that were named', async () => {
  const { read } = await aBoxThatPrints({
    synapse: `${at(1, '.5')} b\n${at(3)} d\n`,
    postgres: `${at(1, '.000000001')} a\n${at(2)} c\n`,
    minio: `${at(0)} no\n`,
  })
  expect((await read({ services: ['synapse', 'postgres'] })).map(({ service, text }) => `${service} ${text}`)).toEqual([
    'postgres a',
    'synapse b',
    'postgres c',
    'synapse d',
  ])
})

test('the newest lines are kept, and only those after the given moment', async () => {
  const { read } = await aBoxThatPrints({ synapse: `${at(1)} a\n${at(1, '.000000001')} b\n`, edge: `${at(2)} c\n` })
  expect((await read({ lines: 2 })).map(({ text }) => text)).toEqual(['b', 'c'])
  expect((await read({ since: at(1) })).map(({ text }) => text)).toEqual(['b', 'c'])
  expect((await read({ since: at(1, '.000000001') })).map(({ text }) => text)).toEqual(['c'])
})

test('the result fits through the channel whatever was printed: the oldest lines go first', async () => {
  const wide = '\u0001'.repeat(4_000)
  const { read } = await aBoxThatPrints({
    synapse: Array.from({ length: 300 }, (_, n) => `${at(1, `.${String(n).padStart(3, '0')}`)} ${wide}`).join('\n'),
  })
  const lines = await read({ lines: 2_000 })
  expect(Buffer.byteLength(JSON.stringify({ lines }))).toBeLessThan(1024 * 1024 - 2048)
  expect(lines.length).toBeGreaterThan(20)
  expect(lines.at(-1)!.at).toBe(at(1, '.299'))
})

test('nothing is taken out of a line, it is only cut, and never through a character', async () => {
  const { read } = await aBoxThatPrints({ edge: `${at(1)} \u001b[31mred\t\n${at(2)} ${'x'.repeat(3_999)}😀y\n${at(3)} \n` })
  const lines = await read()
  expect(lines.map(({ text }) => text.slice(-3))).toEqual(['ed\t', 'xx\ufffd', ''])
  expect(lines[0]!.text).toBe('\u001b[31mred\t')
})

test('a stopped box has its log still', async () => {
  const { read, host, box } = await aBoxThatPrints()
  await host.engine.stop(box.project, ['synapse'])
  const lines = await read({ services: ['synapse'] })
  expect(lines.at(-1)).toMatchObject({ service: 'synapse', text: 'stopped' })
  expect(await read({ services: ['synapse'], since: lines.at(-1)!.at })).toEqual([])
})

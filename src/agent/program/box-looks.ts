import { type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type ExitCode, printable, problem } from '../../core/kit/index.ts'
import { logLines, readFence } from '../boxes/index.ts'
import { boxOf } from './box-commands.ts'
import { hostHere } from './host-here.ts'
import { type Globals, type Machine, print } from './machine.ts'

// More questions of a person who stands before a host; a probe writes its own row, event and file, nothing else is changed.

export async function boxProbe(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const probe = await host.servers.probe(await boxOf(host, slug), machine.signal)
  print(machine, options, { probe }, probeWords(slug, probe))
  return probe.verdict === 'ok' ? 0 : 1
}

function probeWords(slug: string, { verdict, components }: ProbeResult): string {
  const lines = Object.entries(components).map(
    ([name, { ok, ms, error }]) => `  ${ok ? '✓' : '✗'} ${name.padEnd(14)} ${ok ? `${ms} ms` : printable(error ?? 'failed')}`,
  )
  return [`${slug} is ${verdict === 'ok' ? 'well' : verdict}`, ...lines].join('\n')
}

type LogOptions = Globals & Readonly<{ service?: readonly string[]; lines: string; since?: string }>

export async function boxLogs(machine: Machine, slug: string, options: LogOptions): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const box = await boxOf(host, slug)
  const since = options.since === undefined ? {} : { since: moment(options.since) }
  const lines = await logLines(host.engine, box, { services: servicesOf(options.service), lines: countOf(options.lines), ...since })
  const words = lines.map(({ at, service, text }) => `${at} ${service.padEnd(8)} ${printable(text)}`)
  print(machine, options, { lines }, words.join('\n') || 'nothing was printed')
  return 0
}

function servicesOf(named: readonly string[] | undefined): readonly Service[] {
  if (named === undefined) return Service.options
  return named.map((name) => {
    const known = Service.safeParse(name)
    if (known.success) return known.data
    throw problem('USAGE', `--service takes ${Service.options.join(', ')}, not ${printable(name)}`)
  })
}

function countOf(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= 2_000) return count
  throw problem('USAGE', `--lines takes a number from 1 to 2000, not ${printable(text)}`)
}

function moment(text: string): string {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw problem('USAGE', `--since takes a time such as 2026-01-31T12:00:00Z, not ${printable(text)}`)
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? text : `${isoOf(ms)}`
}

const isoOf = (ms: number): string => new Date(ms).toISOString()

export async function boxFence(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const fence = (await readFence((await boxOf(host, slug)).project)) ?? null
  const words = fence
    ? `${slug} is closed by ${printable(fence.holder)}, since ${printable(fence.since ?? 'nobody knows when')}${fence.reason ? `: ${printable(fence.reason)}` : ''}`
    : `${slug} is open`
  print(machine, options, { fence }, words)
  return 0
}

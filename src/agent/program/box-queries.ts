import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type ExitCode, printable, problem } from '../../core/kit/index.ts'
import { logLines, readFence, reportVersions } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { type LocalHost, localHost } from './local-host.ts'
import { type Globals, type Machine, print, settingsOf } from './settings.ts'

// What a host knows of its boxes, for a person who stands before it while the daemon is away. Nothing here changes anything.

export async function boxList(machine: Machine, options: Globals): Promise<ExitCode> {
  const boxes = await hostHere(machine, options).boxes.list()
  const lines = boxes.map(({ slug, managed, project }) => `${slug.padEnd(41)} ${managed ? 'managed ' : 'observed'}  ${project.folder}`)
  print(machine, options, { boxes }, lines.join('\n') || 'this host has no boxes')
  return 0
}

export async function boxShow(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const box = await boxOf(host, slug)
  const containers = await host.engine.containers(box.project)
  const lines = [
    `${slug}  ${box.managed ? 'managed' : 'observed'}, epoch ${box.ownershipEpoch}, ${box.chatDomain}`,
    `  project ${box.project.name} in ${box.project.folder}`,
    ...containers.map(
      ({ service, state, image, restartCount }) =>
        `  ${service.padEnd(9)} ${state.padEnd(11)} ${image}${restartCount > 0 ? `  restarted ${restartCount} times` : ''}`,
    ),
  ]
  print(machine, options, { box, containers }, lines.join('\n'))
  return 0
}

export async function boxVersions(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = hostHere(machine, options)
  const report = await reportVersions({ ...host, clock: machine.clock }, await boxOf(host, slug))
  const lines = Object.entries(report.installed).map(([component, version]) => `${component.padEnd(15)} ${version}`)
  print(machine, options, { report }, [...lines, ...(report.fenced ? ['the box is fenced'] : [])].join('\n'))
  return 0
}

export async function boxOf({ boxes }: LocalHost, slug: string): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `this host has no box ${slug}: \`tenantry-agent box list\` shows all`)
  return box
}

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

/** The host that a person stands before. Throws CONFIG where no agent has its folder: it would look like a host without boxes. */
export function hostHere(machine: Machine, options: Globals): LocalHost {
  const settings = settingsOf(machine, options)
  if (existsSync(settings.stateDir)) return localHost(machine, settings)
  throw problem(
    'CONFIG',
    `there is no ${resolve(settings.stateDir)}, so no agent keeps its boxes there: name its settings with --config, or its folder with TENANTRY_AGENT_STATE_DIR`,
  )
}

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type ProbeResult, Service } from '../../core/boxes/index.ts'
import { type ExitCode, printable, problem } from '../../core/kit/index.ts'
import { logLines, readFence, reportVersions } from '../boxes/index.ts'
import type { LocalBox } from '../ports/index.ts'
import { type LocalHost, localHost } from './local-host.ts'
import { type Globals, type Machine, print, settingsOf } from './settings.ts'

// Read-only commands on the boxes of this host; they work without the daemon. Only the probe writes, and only its own test data.

export async function boxList(machine: Machine, options: Globals): Promise<ExitCode> {
  const boxes = await currentHost(machine, options).boxes.list()
  const lines = boxes.map(({ slug, managed, project }) => `${slug.padEnd(41)} ${managed ? 'managed ' : 'observed'}  ${project.folder}`)
  print(machine, options, { result: { boxes }, words: lines.join('\n') || 'No boxes on this host.' })
  return 0
}

export async function boxShow(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = currentHost(machine, options)
  const box = await findBox(host, slug)
  const containers = await host.engine.containers(box.project)
  const lines = [
    `${slug}  ${box.managed ? 'managed' : 'observed'}, epoch ${box.ownershipEpoch}, ${box.chatDomain}`,
    `  project ${box.project.name} in ${box.project.folder}`,
    ...containers.map(
      ({ service, state, image, restartCount }) =>
        `  ${service.padEnd(9)} ${state.padEnd(11)} ${image}${restartCount > 0 ? `  restarted ${restartCount} times` : ''}`,
    ),
  ]
  print(machine, options, { result: { box, containers }, words: lines.join('\n') })
  return 0
}

export async function boxVersions(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = currentHost(machine, options)
  // Facts for the pre-flight are left out: measuring volumes takes seconds, and nothing here shows them.
  const { engine, servers } = host
  const report = await reportVersions({ engine, servers, clock: machine.clock }, await findBox(host, slug))
  const lines = Object.entries(report.installed).map(([component, version]) => `${component.padEnd(15)} ${version}`)
  print(machine, options, { result: { report }, words: [...lines, ...(report.fenced ? ['fenced: yes'] : [])].join('\n') })
  return 0
}

export async function findBox({ boxes }: LocalHost, slug: string): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `This host has no box ${slug}. fix: tenantry-agent box list`)
  return box
}

export async function boxProbe(machine: Machine, slug: string, options: Globals): Promise<ExitCode> {
  const host = currentHost(machine, options)
  const probe = await host.servers.probe(await findBox(host, slug), machine.signal)
  print(machine, options, { result: { probe }, words: probeText(slug, probe) })
  return probe.verdict === 'ok' ? 0 : 1
}

function probeText(slug: string, { verdict, components }: ProbeResult): string {
  const lines = Object.entries(components).map(
    ([name, { ok, ms, error }]) => `  ${ok ? '✓' : '✗'} ${name.padEnd(14)} ${ok ? `${ms} ms` : printable(error ?? 'failed')}`,
  )
  return [`${slug}: ${verdict}`, ...lines].join('\n')
}

type LogOptions = Globals & Readonly<{ service?: readonly string[]; lines: string; since?: string }>

export async function boxLogs(machine: Machine, slug: string, options: LogOptions): Promise<ExitCode> {
  const host = currentHost(machine, options)
  const box = await findBox(host, slug)
  const since = options.since === undefined ? {} : { since: moment(options.since) }
  const lines = await logLines(host.engine, box, { services: servicesOf(options.service), lines: countOf(options.lines), ...since })
  const words = lines.map(({ at, service, text }) => `${at} ${service.padEnd(8)} ${printable(text)}`)
  print(machine, options, { result: { lines }, words: words.join('\n') || 'No log lines.' })
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
  const host = currentHost(machine, options)
  const fence = (await readFence((await findBox(host, slug)).project)) ?? null
  const words = fence
    ? `${slug} is fenced by ${printable(fence.holder)} since ${printable(fence.since ?? 'an unknown time')}${fence.reason ? `: ${printable(fence.reason)}` : ''}`
    : `${slug} is open: no fence`
  print(machine, options, { result: { fence }, words })
  return 0
}

/** This host. Throws CONFIG when the state folder is missing, which would look like a host without boxes. */
export function currentHost(machine: Machine, options: Globals): LocalHost {
  const settings = settingsOf(machine, options)
  if (existsSync(settings.stateDir)) return localHost(machine, settings)
  throw problem(
    'CONFIG',
    `State folder ${resolve(settings.stateDir)} does not exist. fix: pass the agent's settings with --config, or set TENANTRY_AGENT_STATE_DIR`,
  )
}

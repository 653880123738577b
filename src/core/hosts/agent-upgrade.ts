import { problem } from '../kit/index.ts'
import type { HostView } from './contract.ts'

// Agents are upgraded from outside: by a unit, a package or a person. These rules say in which order, and when a host is proven.

type Wanted = Readonly<{
  /** With its commit, as `hosts list` shows it, or without. */
  version: string
  /** Only these hosts; all when empty. */
  hosts: readonly string[]
  /** The first host; by default the one with the fewest boxes. */
  canary: string | undefined
}>

export type AgentUpgradePlan = Readonly<{
  /** In their order, the canary first. */
  hosts: readonly string[]
  upToDate: readonly string[]
  leftOut: readonly Readonly<{ host: string; why: string }>[]
}>

const hasVersion = ({ agentVersion }: Pick<HostView, 'agentVersion'>, version: string): boolean =>
  agentVersion === version || agentVersion?.split('+')[0] === version

/** Throws NOT_FOUND for a host that does not exist, CONFLICT for a canary that cannot be upgraded. */
export function planAgentUpgrade(all: readonly HostView[], { version, hosts, canary }: Wanted): AgentUpgradePlan {
  const unknown = [...hosts, ...(canary === undefined ? [] : [canary])].find((name) => !all.some((host) => host.name === name))
  if (unknown !== undefined) throw problem('NOT_FOUND', `host ${unknown} does not exist; \`tenantry hosts list\` shows all hosts`)
  const wanted = all.filter(({ name, status }) => (hosts.length === 0 ? status !== 'revoked' : hosts.includes(name)))
  const upToDate = wanted.filter((host) => host.status === 'online' && hasVersion(host, version))
  const others = wanted.filter((host) => !upToDate.includes(host))
  const leftOut = others.filter(({ status }) => status !== 'online').map(({ name, status }) => ({ host: name, why: `it is ${status}` }))
  const boxesOf = ({ resources }: HostView) => resources?.boxes ?? 0
  const ordered = others
    .filter(({ status }) => status === 'online')
    .toSorted((a, b) => Number(b.name === canary) - Number(a.name === canary) || boxesOf(a) - boxesOf(b) || a.name.localeCompare(b.name))
  if (canary !== undefined && ordered.length > 0 && ordered[0]?.name !== canary && !upToDate.some(({ name }) => name === canary))
    throw problem('CONFLICT', `host ${canary} cannot be the canary. fix: name an online host of those to upgrade`)
  return { hosts: ordered.map(({ name }) => name), upToDate: upToDate.map(({ name }) => name), leftOut }
}

/** A host before its upgrade. `running`: the slugs of its boxes whose chat served. */
export type HostBefore = Readonly<{ resourcesAt: string | null; running: readonly string[] }>

type Seen = Readonly<{
  host: Pick<HostView, 'agentVersion' | 'status' | 'resources' | 'resourcesAt'>
  boxes: readonly Readonly<{ slug: string; health: Readonly<{ state: string; why: string | null }> | null }>[]
}>

/**
 * Returns what a host still lacks of a proven upgrade: undefined when its agent has the version, has checked every box since it started, and each box that
 * served before serves again.
 */
export function upgradeLack({ host, boxes }: Seen, before: HostBefore, version: string): string | undefined {
  if (!hasVersion(host, version)) return `its agent is still ${host.agentVersion ?? 'of an unknown version'}`
  if (host.status !== 'online') return `it is ${host.status}`
  if (before.running.length === 0) return undefined
  // The first report of an agent has no check yet, so that one with a check is of this start.
  const { checkedAt, uncheckedSince } = host.resources ?? {}
  if (host.resourcesAt === before.resourcesAt || checkedAt === undefined || uncheckedSince !== undefined)
    return 'its agent has not checked all boxes yet'
  for (const slug of before.running) {
    const box = boxes.find((one) => one.slug === slug)
    if (box && box.health?.state !== 'running' && box.health?.state !== 'maintenance')
      return `${slug} is ${box.health?.state ?? 'unknown'}${box.health?.why ? `: ${box.health.why}` : ''}`
  }
  return undefined
}

import semver from 'semver'
import { type Component, ProbeComponent, Service, VersionedService } from '../boxes/index.ts'
import { isSkewed, supportedProtocols } from '../hosts/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './preflight.ts'

/** Whether anything fresh is known at all. */
export function reportFindings({ slug, reportedAt }: KnownBox, { now, staleAfterMs }: Pick<Limits, 'now' | 'staleAfterMs'>): Finding[] {
  if (reportedAt === null) return [refusal('NO_REPORT', `${slug} has never reported its versions: \`tenantry boxes scan\` asks its agent`)]
  const ageMs = Date.parse(now) - Date.parse(reportedAt)
  if (ageMs <= staleAfterMs) return []
  return [refusal('STALE_REPORT', `the last report of ${slug} is ${duration(ageMs)} old: \`tenantry boxes scan\` asks its agent`)]
}

/** The host, and the box as it stands, whatever is to become of it. */
export const stateFindings = (box: KnownBox, limits: Limits): Finding[] => [
  ...(box.managed ? [] : [refusal('NOT_MANAGED', `${box.slug} is only observed: complete its adoption before it can be updated`)]),
  ...hostFindings(box, limits),
  ...fenceFindings(box),
  ...healthFindings(box),
]

export function hostFindings(
  { slug, hostName, hostOnline, clockOffsetMs, protocolVersion, agentVersion }: KnownBox,
  limits: Limits,
): Finding[] {
  const findings: Finding[] = []
  if (!hostOnline) findings.push(refusal('HOST_OFFLINE', `the host ${hostName} of ${slug} is offline: start its agent`))
  if (clockOffsetMs !== null && isSkewed({ clockOffsetMs }))
    findings.push(
      refusal(
        'CLOCK_SKEW',
        `the clock of ${hostName} is ${duration(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? 'ahead' : 'behind'}: set it (timedatectl, chrony) before ${slug} is updated`,
      ),
    )
  if (protocolVersion !== null && !supportedProtocols.includes(protocolVersion))
    findings.push(
      refusal(
        'AGENT_TOO_OLD',
        `the agent of ${hostName} speaks protocol ${protocolVersion}, which this daemon does not: upgrade tenantry-agent`,
      ),
    )
  else if (isOlder(agentVersion, limits.daemonVersion))
    findings.push(
      warning(
        'AGENT_TOO_OLD',
        `the agent of ${hostName} is ${agentVersion} and the daemon ${limits.daemonVersion}: upgrade tenantry-agent`,
      ),
    )
  return findings
}

const isOlder = (version: string | null, than: string): boolean =>
  version !== null && semver.valid(version) !== null && semver.valid(than) !== null && semver.lt(version, than)

export function fenceFindings({ slug, heldBy, report }: KnownBox): Finding[] {
  if (heldBy !== null) return [warning('BOX_HELD', `${slug} is held by ${heldBy} now; at its turn it waits until it is free`)]
  if (!report?.fenced) return []
  const by = report.fence ? ` by ${report.fence.holder}` : ''
  return [
    refusal('BOX_FENCED', `${slug} is fenced${by} and nothing holds it: find out why (\`tenantry boxes show ${slug}\`) before updating it`),
  ]
}

/** Every service runs, and the last probe was good: an update of a sick box would be taken back for what it did not do. */
export function healthFindings({ slug, report, probe }: KnownBox): Finding[] {
  const down = Service.options.flatMap((service) => {
    const state = report?.services[service]?.state
    return state === undefined || state === 'running' ? [] : [`${service} is ${state}`]
  })
  if (down.length > 0) return [refusal('BOX_UNHEALTHY', `in ${slug} ${down.join(', ')}: repair the box before it is updated`)]
  if (!probe || probe.verdict === 'ok') return []
  const bad = ProbeComponent.options.filter((component) => !probe.components[component].ok)
  const why = probe.reason ?? probe.verdict
  return [
    refusal(
      'BOX_UNHEALTHY',
      `the last probe of ${slug} (${probe.at}) was not good: ${[...bad, why].join(', ')}; \`tenantry boxes check ${slug}\` probes it again`,
    ),
  ]
}

/** What an earlier attempt may have left: what each tag was pinned to, and what ran before the first attempt that could have changed it. */
export type Earlier = Readonly<{
  pinned: Readonly<Record<string, string>>
  before: Readonly<Record<string, Readonly<{ image: string; digest: string | null }> | undefined>>
}>

/** Of services that are not to change: whether what runs under a tag is the image that it stands for, or the one that ran under it all along. */
export function imageFindings({ slug, report }: KnownBox, changes: readonly Component[], { pinned, before }: Earlier): Finding[] {
  const wrong = VersionedService.options.flatMap((service) => {
    const { image = '', digest = null } = report?.services[service] ?? {}
    const planned = pinned[image]
    const former = before[service]
    if (changes.includes(service) || digest === null || planned === undefined || planned === digest) return []
    return former?.image === image && former.digest === digest ? [] : [`${service} runs ${image} as ${digest} and not as ${planned}`]
  })
  if (wrong.length === 0) return []
  const mended = `bring the box back with \`tenantry snapshots restore ${slug} --snapshot <id> --reason <why>\` and try again, or leave it out`
  return [refusal('OTHER_IMAGE', `in ${slug} ${wrong.join(', ')}: find out where that image comes from, then ${mended}`)]
}

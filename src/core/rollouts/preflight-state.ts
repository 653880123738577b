import { type Component, inPlaceText, observedText, ProbeComponent, Service, VersionedService } from '../boxes/index.ts'
import { isSkewed, supportedProtocols } from '../hosts/index.ts'
import { duration } from '../kit/index.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'

/** No report, or an outdated one. */
export function reportFindings({ slug, reportedAt }: KnownBox, { now, staleAfterMs }: Pick<Limits, 'now' | 'staleAfterMs'>): Finding[] {
  if (reportedAt === null) return [refusal('NO_REPORT', `${slug} has never reported its versions. fix: run \`tenantry boxes scan\``)]
  const ageMs = Date.parse(now) - Date.parse(reportedAt)
  if (ageMs <= staleAfterMs) return []
  return [refusal('STALE_REPORT', `the last report of ${slug} is ${duration(ageMs)} old. fix: run \`tenantry boxes scan\``)]
}

/** The state of the host and of the box, whatever the target. */
export const stateFindings = (box: KnownBox): Finding[] => [
  ...(box.managed ? [] : [refusal('NOT_MANAGED', observedText(box.slug))]),
  ...(box.inPlace ? [warning('IN_PLACE', inPlaceText(box.slug))] : []),
  ...hostFindings(box),
  ...fenceFindings(box),
  ...healthFindings(box),
]

export function hostFindings({ slug, hostName, hostOnline, clockOffsetMs, protocolVersion }: KnownBox): Finding[] {
  const findings: Finding[] = []
  if (!hostOnline) findings.push(refusal('HOST_OFFLINE', `the host ${hostName} of ${slug} is offline. fix: start its agent`))
  if (clockOffsetMs !== null && isSkewed({ clockOffsetMs }))
    findings.push(
      refusal(
        'CLOCK_SKEW',
        `the clock of ${hostName} is ${duration(Math.abs(clockOffsetMs))} ${clockOffsetMs > 0 ? 'ahead' : 'behind'}. fix: set it (timedatectl, chrony) before updating ${slug}`,
      ),
    )
  if (protocolVersion !== null && !supportedProtocols.includes(protocolVersion))
    findings.push(
      refusal(
        'AGENT_TOO_OLD',
        `the agent of ${hostName} speaks protocol ${protocolVersion}, which this daemon does not support. fix: upgrade tenantry-agent`,
      ),
    )
  return findings
}

export function fenceFindings({ slug, heldBy, report }: KnownBox): Finding[] {
  if (heldBy !== null) return [warning('BOX_HELD', `${slug} is on hold for ${heldBy}; it waits until the hold is released`)]
  if (!report?.fenced) return []
  const by = report.fence ? ` by ${report.fence.holder}` : ''
  return [
    refusal('BOX_FENCED', `${slug} is fenced${by} although nothing holds it. fix: find the cause with \`tenantry boxes show ${slug}\``),
  ]
}

/** A service is down, or the last probe failed: the update of an unhealthy box would be rolled back for a fault it did not cause. */
export function healthFindings({ slug, report, probe }: Pick<KnownBox, 'slug' | 'report' | 'probe'>): Finding[] {
  const down = Service.options.flatMap((service) => {
    const state = report?.services[service]?.state
    return state === undefined || state === 'running' ? [] : [`${service} is ${state}`]
  })
  if (down.length > 0) return [refusal('BOX_UNHEALTHY', `in ${slug} ${down.join(', ')}. fix: repair the box`)]
  if (!probe || probe.verdict === 'ok') return []
  const bad = ProbeComponent.options.filter((component) => !probe.components[component].ok)
  const why = probe.reason ?? probe.verdict
  return [
    refusal(
      'BOX_UNHEALTHY',
      `the last probe of ${slug} (${probe.at}) failed: ${[...bad, why].join(', ')}. fix: repair the box, then probe it with \`tenantry boxes check ${slug}\``,
    ),
  ]
}

/** The pinned digest of each tag, and what ran before the first attempt. */
export type Earlier = Readonly<{
  pinned: Readonly<Record<string, string>>
  before: Readonly<Record<string, Readonly<{ image: string; digest: string | null }> | undefined>>
}>

/** Services that do not change must run the pinned image of their tag, or the one that ran before the first attempt. */
export function imageFindings({ slug, report }: KnownBox, changes: readonly Component[], { pinned, before }: Earlier): Finding[] {
  const wrong = VersionedService.options.flatMap((service) => {
    const { image = '', digest = null } = report?.services[service] ?? {}
    const planned = pinned[image]
    const former = before[service]
    if (changes.includes(service) || digest === null || planned === undefined || planned === digest) return []
    return former?.image === image && former.digest === digest ? [] : [`${service} runs ${image} as ${digest} instead of ${planned}`]
  })
  if (wrong.length === 0) return []
  const fix = `restore the box with \`tenantry snapshots restore ${slug} --snapshot <id> --reason <why>\` and retry, or skip it`
  return [refusal('OTHER_IMAGE', `in ${slug} ${wrong.join(', ')}. fix: find out where that image comes from, then ${fix}`)]
}

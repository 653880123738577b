import {
  type Fix,
  type InstalledVersions,
  observedText,
  reintroducedVulnerabilities,
  Service,
  VersionedService,
  type VersionsReport,
  vulnerabilitiesText,
} from '../boxes/index.ts'
import type { RollbackMode } from './action.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { KnownBox, Limits } from './known-box.ts'
import { fenceFindings, hostFindings, reportFindings } from './preflight-state.ts'
import type { CompletedUpdate } from './rollback.types.ts'

/** Services whose image the update changed, by its evidence. */
export const changedServices = ({
  digestsBefore,
  digestsAfter,
}: Pick<CompletedUpdate, 'digestsBefore' | 'digestsAfter'>): VersionedService[] =>
  VersionedService.options.filter((service) => digestsAfter[service] !== undefined && digestsAfter[service] !== digestsBefore[service])

/** Findings about the box, whatever the mode of the rollback. An unhealthy box may be rolled back. */
export function boxFindings(
  { mode, update, box }: Readonly<{ mode: RollbackMode; update: CompletedUpdate; box: KnownBox | undefined }>,
  limits: Limits,
): Finding[] {
  const { slug } = update
  if (box?.boxId !== update.boxId)
    return [refusal('CHANGED_SINCE', `the box of ${slug} that this rollout updated is not its live box any more`)]
  return [
    ...(box.managed ? [] : [refusal('NOT_MANAGED', observedText(slug))]),
    ...hostFindings(box),
    ...fenceFindings(box),
    ...reportFindings(box, limits),
    ...changedSince(mode, update, box),
    ...syncFindings(update, box),
  ]
}

/** A box, and the versions it would run after its rollback. */
export type RollbackTarget = KnownBox & Readonly<{ to: InstalledVersions }>

/** The fixes of emergencies that started since the rollout was created, and before it. */
export type Fixes = Readonly<{ since: readonly Fix[]; before: readonly Fix[] }>

/**
 * A rollback behind an emergency that started since the rollout is refused. Before an earlier emergency the box was vulnerable already and the
 * rollout fixed it: that is a warning for the operator.
 */
export const vulnerabilityFindings = (box: RollbackTarget, { since, before }: Fixes): Finding[] => [
  ...reintroduced(box, since).map((vulnerabilities) => {
    const byHand = `tenantry snapshots restore ${box.slug} --snapshot <id> --reason <why> --allow-vulnerable`
    return refusal(
      'REINTRODUCES_CVE',
      `${box.slug} would have ${vulnerabilities} again. fix: leave it, or restore this box alone with \`${byHand}\``,
    )
  }),
  ...reintroduced(box, before).map((vulnerabilities) =>
    warning(
      'REINTRODUCES_CVE',
      `${box.slug} will have ${vulnerabilities} again, as before this rollout. fix: update it soon to a release that you trust`,
    ),
  ),
]

/** One text for all reintroduced vulnerabilities; none without any. */
function reintroduced({ installed, to }: RollbackTarget, fixes: readonly Fix[]): string[] {
  const vulnerabilities = reintroducedVulnerabilities(fixes, { from: installed, to })
  return vulnerabilities.length > 0 ? [vulnerabilitiesText(vulnerabilities)] : []
}

/**
 * It runs the images from before the update, by snapshot with the former tables: an operator restored or rebuilt it by hand. It counts as
 * rolled back and blocks no rollback of the others.
 */
export function isAlreadyBack(mode: RollbackMode, update: CompletedUpdate, { report, installed }: KnownBox): boolean {
  const changed = changedServices(update)
  if (!report || changed.length === 0) return false
  const isFormer = (service: VersionedService) => {
    const before = update.digestsBefore[service]
    return Boolean(before) && report.services[service]?.digest === before
  }
  return changed.every(isFormer) && (mode === 'images' || installed.migrationsHead === update.from.migrationsHead)
}

/** A rollback reverts its rollout and nothing later. By images it leaves other services alone; a snapshot reverts the whole box. */
function changedSince(mode: RollbackMode, update: CompletedUpdate, { slug, report, installed }: KnownBox): Finding[] {
  if (!report) return []
  const other = changedServices(update).filter((service) => report.services[service]?.digest !== update.digestsAfter[service])
  if (other.length > 0) {
    const runs = other.map((service) => `${service} ${installed[service]}`).join(', ')
    const message = `${slug} runs ${runs} now, which this rollout did not install. fix: restore this box alone (\`tenantry snapshots list --slug ${slug}\`)`
    return [refusal('CHANGED_SINCE', message)]
  }
  const later = mode === 'snapshot' ? laterChanges(update, report, installed) : []
  if (later.length === 0) return []
  const message = `${slug} also changed after this rollout (${later.join(', ')}), and the snapshot from before the rollout would revert that too. fix: roll back by images, or restore this box alone (\`tenantry snapshots list --slug ${slug}\`)`
  return [refusal('CHANGED_SINCE', message)]
}

/** Changes of what the rollout left as it was. */
function laterChanges(update: CompletedUpdate, report: VersionsReport, installed: InstalledVersions): string[] {
  const services = Service.options.filter((service) => {
    const evidence = update.digestsAfter[service] ?? update.digestsBefore[service]
    const digest = report.services[service]?.digest
    return evidence !== undefined && digest !== undefined && digest !== evidence
  })
  const change = (component: keyof InstalledVersions) => `${update.to[component]} → ${installed[component]}`
  return [
    ...services.map((service) => (service === 'edge' ? 'edge' : `${service} ${change(service)}`)),
    ...(installed.migrationsHead === update.to.migrationsHead ? [] : [`migrations head ${change('migrationsHead')}`]),
  ]
}

/** A newer chat server gives clients sync tokens with more streams; an older one refuses such a token (400, Invalid stream token). */
function syncFindings({ from, to }: CompletedUpdate, { slug }: KnownBox): Finding[] {
  if (minorOf(from.synapse) === minorOf(to.synapse)) return []
  const message = `logged-in apps of ${slug} hold sync tokens of Synapse ${to.synapse}, which Synapse ${from.synapse} may refuse. fix: users who see no new messages clear the app's cache or log in again; nothing is lost`
  return [warning('SYNC_POSITIONS', message)]
}

const minorOf = (version: string): string => /^\d+\.\d+/.exec(version)?.[0] ?? version

const gone: Readonly<Record<string, string>> = {
  forgotten: 'was deleted by retention',
  missing: 'is missing from its repository',
  damaged: 'failed its last test restore',
}

/** The snapshot from before the update must exist. */
export function snapshotFindings({ slug, snapshot }: CompletedUpdate): Finding[] {
  const list = `fix: list its snapshots with \`tenantry snapshots list --slug ${slug}\``
  if (!snapshot) return [refusal('SNAPSHOT_GONE', `${slug} has no snapshot from before this rollout. ${list}`)]
  const why = gone[snapshot.status]
  if (why === undefined) return []
  return [refusal('SNAPSHOT_GONE', `the snapshot ${snapshot.snapshotId.slice(0, 8)} of ${slug} from before this rollout ${why}. ${list}`)]
}

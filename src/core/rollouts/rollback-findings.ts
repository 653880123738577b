import { type Fix, type InstalledVersions, reintroducedVulnerabilities, VersionedService, vulnerabilitiesText } from '../boxes/index.ts'
import type { RollbackMode } from './action.ts'
import { type Finding, refusal, warning } from './finding.ts'
import type { CompletedUpdate } from './plan-rollback.ts'
import type { KnownBox, Limits } from './preflight.ts'
import { fenceFindings, hostFindings, reportFindings } from './preflight-state.ts'

/** Services whose image the update changed, as its own evidence says. */
export const changedServices = ({
  digestsBefore,
  digestsAfter,
}: Pick<CompletedUpdate, 'digestsBefore' | 'digestsAfter'>): VersionedService[] =>
  VersionedService.options.filter((service) => digestsAfter[service] !== undefined && digestsAfter[service] !== digestsBefore[service])

/**
 * What speaks against touching the box at all, whichever way it would go back. That it is not healthy is no reason against: it may be why
 * somebody wants it back.
 */
export function boxFindings(mode: RollbackMode, update: CompletedUpdate, box: KnownBox | undefined, limits: Limits): Finding[] {
  const { slug } = update
  if (box?.boxId !== update.boxId) return [refusal('CHANGED_SINCE', `the box of ${slug} that was updated is not its live box any more`)]
  return [
    ...(box.managed ? [] : [refusal('NOT_MANAGED', `${slug} is only observed by now: complete its adoption first`)]),
    ...hostFindings(box, limits),
    ...fenceFindings(box),
    ...reportFindings(box, limits),
    ...changedSince(mode, update, box),
    ...syncFindings(update, box),
  ]
}

/** A box, and what it would run once it has gone back. */
export type GoingBack = KnownBox & Readonly<{ to: InstalledVersions }>

/** What emergencies have brought that began since a rollout was made, and before it. */
export type Fixes = Readonly<{ since: readonly Fix[]; before: readonly Fix[] }>

/**
 * An emergency that began since then found it fixed, or fixed it: what was to go back before it would go back behind it. One from before had
 * left the box as it was, and it was the rollout that closed the hole there: to take that back is for whoever reads it.
 */
export const vulnerabilityFindings = (box: GoingBack, { since, before }: Fixes): Finding[] => [
  ...reopening(box, since).map((holes) => {
    const byHand = `tenantry snapshots restore ${box.slug} --snapshot <id> --reason <why> --allow-hole`
    return refusal('REINTRODUCES_CVE', `${box.slug} would have ${holes} again: where that must be, \`${byHand}\` does it, box by box`)
  }),
  ...reopening(box, before).map((holes) =>
    warning(
      'REINTRODUCES_CVE',
      `${box.slug} will have ${holes} again, as it had before this rollout: close it soon by a release that you trust`,
    ),
  ),
]

/** Told at once, or not at all. */
function reopening({ installed, to }: GoingBack, fixes: readonly Fix[]): string[] {
  const holes = reintroducedVulnerabilities(fixes, { from: installed, to })
  return holes.length > 0 ? [vulnerabilitiesText(holes)] : []
}

/** What somebody did to it after the rollout is not the rollout's to take back. */
function changedSince(mode: RollbackMode, update: CompletedUpdate, { slug, report, installed }: KnownBox): Finding[] {
  if (!report) return []
  const other = changedServices(update).filter((service) => report.services[service]?.digest !== update.digestsAfter[service])
  if (other.length > 0) {
    const runs = other.map((service) => `${service} ${installed[service]}`).join(', ')
    const message = `${slug} runs ${runs} by now, which is not what this rollout gave it: bring it back by itself (\`tenantry snapshots list --slug ${slug}\`)`
    return [refusal('CHANGED_SINCE', message)]
  }
  if (mode === 'images' || installed.migrationsHead === update.to.migrationsHead) return []
  const message = `the tables of ${slug} are at migrations head ${installed.migrationsHead} by now, and this rollout brought them to ${update.to.migrationsHead}: the snapshot would take back more than the rollout`
  return [refusal('CHANGED_SINCE', message)]
}

/**
 * Newer chat servers tell clients their position in more streams than older ones know, and an older one refuses such a position (400, Invalid
 * stream token) instead of passing over what it does not know.
 */
function syncFindings({ from, to }: CompletedUpdate, { slug }: KnownBox): Finding[] {
  if (minorOf(from.synapse) === minorOf(to.synapse)) return []
  const message = `apps that are logged in to ${slug} hold a position that Synapse ${to.synapse} told them, and Synapse ${from.synapse} may refuse it: who sees nothing new then clears the app's cache or logs in again, by which nothing is lost`
  return [warning('SYNC_POSITIONS', message)]
}

const minorOf = (version: string): string => /^\d+\.\d+/.exec(version)?.[0] ?? version

const gone: Readonly<Record<string, string>> = {
  forgotten: 'was given up by retention',
  missing: 'is missing from its repository',
  damaged: 'could not be read back when it was last tried',
}

/** Whether the snapshot from before the update is there to go back to. */
export function snapshotFindings({ slug, snapshot }: CompletedUpdate): Finding[] {
  const list = `\`tenantry snapshots list --slug ${slug}\` shows all`
  if (!snapshot) return [refusal('SNAPSHOT_GONE', `no snapshot of ${slug} from before this rollout is known: ${list}`)]
  const why = gone[snapshot.status]
  if (why === undefined) return []
  return [refusal('SNAPSHOT_GONE', `the snapshot ${snapshot.snapshotId.slice(0, 8)} of ${slug} from before this rollout ${why}: ${list}`)]
}

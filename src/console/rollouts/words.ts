import { duration, plural } from '../../core/kit/index.ts'
import type { RolloutPlan, RolloutReport } from '../../core/rollouts/index.ts'
import { titles } from './titles.ts'

type PlanTotals = Pick<RolloutPlan, 'updates' | 'refusals' | 'parallel'> & Readonly<{ upToDate: number; skipped: number }>

export const boxes = (count: number): string => plural(count, 'box', 'boxes')

/** Every text of the pages of rollouts. States, counts and next commands are core's. */
export const words = {
  boxes,
  list: {
    title: titles.list,
    answer: (open: number, paused: number) =>
      paused > 0
        ? `${plural(paused, 'rollout is', 'rollouts are')} paused.`
        : open === 0
          ? 'No rollout is active.'
          : `${plural(open, 'rollout is', 'rollouts are')} active.`,
    empty: 'No rollouts yet.',
    emptyNext: 'A rollout moves boxes to the manifest, one phase after another. Preview one; it changes nothing.',
    none: 'No rollout matches the filter.',
    columns: {
      id: 'Rollout',
      status: 'Status',
      updated: 'Updated',
      failed: 'Failed',
      rolledBack: 'Rolled back',
      waiting: 'Waiting until',
      created: 'Created',
      by: 'Created by',
      reason: 'Reason',
    },
    emergency: 'emergency',
  },
  page: {
    title: (id: string) => `Rollout ${id}`,
    notFound: 'This rollout does not exist.',
    time: (activeMs: number, waitingMs: number) =>
      waitingMs >= 1000 ? `${duration(activeMs)} active, ${duration(waitingMs)} waiting` : `${duration(activeMs)} active`,
    left: (ms: number) => `about ${duration(roughly(ms))} left`,
    manifest: (revision: number) => `manifest ${revision}`,
    phases: 'Phases',
    progress: 'Progress',
    next: 'Next',
    failures: 'Failures',
    inFlight: 'In progress',
    boxesTitle: 'Boxes',
    noBoxes: 'No box matches the filter.',
    story: 'Timeline',
    steps: 'Steps',
    facts: 'Facts',
    notLive: 'Connection lost, reconnecting; what you see is from before.',
    elapsedOf: (elapsedMs: number, expectedMs: number | undefined) =>
      expectedMs === undefined ? duration(elapsedMs) : `${duration(elapsedMs)} of about ${duration(expectedMs)}`,
    downtime: (ms: number, expectedMs: number) => `downtime ${duration(ms)}${expectedMs > 0 ? ` (expected ${duration(expectedMs)})` : ''}`,
    snapshot: 'snapshot',
    noReason: 'the agent reported no reason',
    attempt: (attempt: number) => `attempt ${attempt}`,
    skipped: 'skipped',
    evidence: 'Evidence',
    windows: (count: number) =>
      count === 1 ? '1 box waits for its maintenance window, until' : `${count} boxes wait for their maintenance windows, the first until`,
    columns: {
      box: 'Box',
      phase: 'Phase',
      status: 'Status',
      versions: 'From → to',
      duration: 'Duration',
      downtime: 'Downtime / expected',
      snapshot: 'Snapshot',
      why: 'Reason',
    },
    medianMax: (medianMs: number, maxMs: number, slug: string) => `median ${duration(medianMs)}, max ${duration(maxMs)} (${slug})`,
    downtimeFact: (fence: NonNullable<RolloutReport['fence']>) =>
      `median ${duration(fence.medianMs)}, max ${duration(fence.worstMs)} (${fence.worstSlug}), total ${duration(fence.sumMs)} over ${boxes(fence.boxes)}`,
    phaseRollback: (rolledBack: number, total: number) => `${rolledBack}/${total} rolled back`,
    formerManifest: (revision: number | null) => (revision === null ? 'Open the manifest' : `Open manifest ${revision} to apply it again`),
    updateSkipped: (count: number) => `Update ${count === 1 ? 'the skipped box' : `${count} skipped boxes`}…`,
  },
  act: {
    start: 'Start',
    pause: 'Pause',
    resume: 'Resume',
    promote: 'Promote',
    abort: 'Abort',
    rollback: 'Roll back',
    resumeRollback: 'Resume rollback',
    stopRollback: 'Stop rollback',
    emergencyRole: (role: string) => `Starting an emergency requires the role admin; you are ${role}.`,
    startTitle: (id: string) => `Start rollout ${id}?`,
    startWhat: (updates: number, phase: string, parallel: number) =>
      `${boxes(updates)} ${updates === 1 ? 'is' : 'are'} updated, ${parallel} at a time, phase by phase from ${phase}. A failing box is rolled back by its agent and stops its phase.`,
    startDowntime: (expectedMs: number, maxMs: number, totalMs: number) =>
      `Each box is in maintenance for about ${duration(expectedMs)}, at most ${duration(maxMs)}. Expected duration: ${duration(totalMs)}.`,
    skipRefused: (count: number) =>
      `Skip ${count === 1 ? 'the blocked box' : `the ${count} blocked boxes`}; without this the start is refused`,
    queue: 'Wait for the end of unfinished rollouts that include these boxes',
    pauses: (ids: readonly string[]) => `It pauses running rollouts: ${ids.join(', ')}.`,
    pauseTitle: (id: string) => `Pause rollout ${id}?`,
    pauseWhat: (inFlight: number) =>
      inFlight === 0
        ? 'No further box begins until someone resumes it. No box is in progress.'
        : `No further box begins until someone resumes it. ${inFlight === 1 ? 'The box in progress finishes' : `The ${inFlight} boxes in progress finish`}; their updates are not interrupted.`,
    resumeTitle: (id: string) => `Resume rollout ${id}?`,
    resumeWhat: (left: number) => `It continues in its phase with ${boxes(left)} to go.`,
    failedChoice: 'Failed boxes',
    retry: (slugs: string) => `Retry ${slugs}: in maintenance again for the update, with a new snapshot first`,
    leaveOut: (slugs: string) => `Leave out ${slugs}: no update in this rollout; the rollout ends as done with skipped boxes`,
    mustLeaveOut: 'A box whose rollback failed is not retried: repair it by hand, and leave it out here.',
    promoteTitle: (id: string) => `Promote rollout ${id}?`,
    promoteWhat: (gate: string, left: number) =>
      `It continues past its ${gate} at once, with ${boxes(left)} left. Boxes that would fail only later are not waited for.`,
    abortTitle: (id: string) => `Abort rollout ${id}?`,
    abortWhat: (updated: number, left: number) =>
      `It ends now and cannot be resumed. ${boxes(updated)} that ${updated === 1 ? 'is' : 'are'} updated stay${updated === 1 ? 's' : ''} updated; ${boxes(left)} ${left === 1 ? 'is' : 'are'} cancelled. Boxes in progress finish.`,
    rollbackTitle: (id: string) => `Roll back rollout ${id}?`,
    modes: 'Updated boxes',
    chooseMode: 'Choose what happens to the updated boxes.',
    modeNone: (updated: number) => `Keep: ${boxes(updated)} stay${updated === 1 ? 's' : ''} updated; the rollout ends as rolled back`,
    modeImages: 'Previous images: the versions from before; no data is lost',
    modeSnapshot: 'Previous snapshots: the data from before the update; what was written since is lost',
    planning: 'Planning the rollback',
    rollbackPlan: (count: number, mode: string, refused: number) =>
      `${boxes(count)} to roll back by ${mode}, in reverse order of the update${refused > 0 ? `, ${refused} blocked` : ''}.`,
    alreadyBack: (slugs: readonly string[]) => `Already at the previous versions (${slugs.length}): ${slugs.join(', ')}.`,
    nothing: 'No box was updated; there is nothing to roll back.',
    loss: (since: string, ms: number) =>
      `DATA LOSS: messages, files and accounts created since the update (the earliest at ${since}), at most ${duration(ms)}. The current data of each box is saved in a snapshot first.`,
    noLoss: 'No data is lost. Each box is in maintenance while its containers are recreated.',
    late: 'Boxes whose update finishes later are rolled back too.',
    skipBlocked: (count: number) => `Skip ${count === 1 ? 'the box' : `the ${count} boxes`} that cannot be rolled back this way`,
    loses: (ms: number) => `loses ${duration(ms)}`,
    resumeRollbackTitle: (id: string) => `Resume the rollback of ${id}?`,
    resumeRollbackWhat: 'It skips boxes that its rollback left stopped and retries boxes whose rollback failed while they were serving.',
    stopRollbackTitle: (id: string) => `Stop the rollback of ${id}?`,
    stopRollbackWhat: (pending: number) =>
      `No further box is rolled back: ${boxes(pending)} pending stay updated. Boxes in progress finish.`,
    changed: 'This has changed since you opened the dialog.',
    changedNow: (before: string, after: string) => `The rollout was ${before}; it is now ${after}.`,
    changedBy: 'Last',
  },
  action: {
    title: titles.box,
    answer: (phase: string) => `in ${phase}`,
    checks: { null: 'not reached', true: 'OK', false: 'failed' },
    attempt: { update: 'Attempt', 'rollback-images': 'Image rollback', 'rollback-snapshot': 'Snapshot rollback' },
    noAttempts: 'No attempt has begun.',
    plan: 'Plan this box…',
    facts: {
      rollout: 'Rollout',
      versions: 'Versions',
      snapshot: 'Snapshot',
      update: 'Update',
      health: 'Health',
      findings: 'Findings',
      waits: 'Waiting',
      started: 'Started',
      duration: 'Duration',
      downtime: 'Downtime',
      expected: 'Expected downtime',
      fence: 'Maintenance ends',
      error: 'Error',
      database: 'Database',
      manifest: 'Manifest of the snapshot',
      compose: 'Compose backup',
      images: 'Images',
    },
    opened: (when: string, reason: string | undefined) => `maintenance ended ${when}${reason ? `: ${reason}` : ''}`,
    steps: 'Steps',
    probes: 'Probes',
    logs: 'Last log lines of what failed',
    logsForOperators: 'Reading logs needs the role operator.',
    unknownImage: 'unknown',
    running: 'running',
    snapshots: 'Snapshots of this box',
  },
  plan: {
    title: titles.plan,
    nav: titles.planNav,
    again: 'Plan again',
    made: 'planned',
    create: 'Create…',
    rehearse: 'Rehearse',
    emergency: 'Emergency…',
    upToDate: 'All boxes are up to date with the manifest.',
    nothing: 'No box to update.',
    noBoxes: 'No boxes yet.',
    totals: ({ updates, upToDate, skipped, refusals, parallel }: PlanTotals) =>
      [
        `${boxes(updates)} to update`,
        upToDate > 0 && `${upToDate} already up to date`,
        skipped > 0 && `${skipped} skipped`,
        refusals > 0 && `${refusals} blocked`,
        `${parallel} at a time`,
      ]
        .filter(Boolean)
        .join(', '),
    eta: (ms: number, windows: boolean) => `Expected duration ${duration(ms)}${windows ? ' if started now, windows included' : ''}`,
    maxDowntime: (ms: number) => `max downtime per box ${duration(ms)}`,
    blocked: (count: number) => `Blocked (${count}): the rollout cannot start with ${count === 1 ? 'this box' : 'these boxes'}`,
    warnings: (count: number) => `Warnings (${count})`,
    active: 'Active rollouts: wait for their end, or start behind them',
    order: 'Order',
    images: 'Images (pinned by digest; later changes of a tag are ignored)',
    moreOf: (count: number) => `and ${count} more`,
    only: 'Only boxes',
    onlyHint: 'slugs, separated by commas; empty: all boxes',
    options: 'Options',
    noOptions: '(none set)',
    ignoreWindows: 'Ignore maintenance windows',
    allowLongFence: 'Allow long downtime',
    parallel: 'Boxes at once',
    bake: 'Bake, minutes',
    apply: 'Plan with these',
    columns: {
      phase: 'Phase',
      box: 'Box',
      host: 'Host',
      versions: 'From → to',
      findings: 'Findings',
      window: 'Window',
      downtime: 'Downtime / max',
      duration: 'Duration',
      opens: 'Opens',
    },
    fences: 'Longer downtime',
    noRollback: (reason: string) => `in maintenance until stable, about 2 min longer; no rollback by images: ${reason}`,
    noHotCopy: (reason: string) => `database copied during the downtime, no hot copy: ${reason}`,
    open: 'open',
    anyTime: 'any time',
    createTitle: (count: number) => `Create a rollout of ${boxes(count)}?`,
    startNow: 'Start it now',
    createOnly: 'It is queued and changes nothing until someone starts it.',
    threshold: 'Failed boxes that stop a phase',
    holdAfter: 'Pause after',
    never: 'no phase',
    fenceMode: 'Maintenance ends',
    snapshotMode: 'Snapshots are stored',
    alongside: 'snapshot alongside',
    hot: 'hot copy',
    autoSnapshot: 'auto: as set for the tier of the box',
    autoMode: 'auto: per box, once its stability or its rollback by images is proven',
    fenceOf: (mode: string) => `For all boxes: ${mode}.`,
    queued: (id: string) => `Rollout ${id} stays queued.`,
    see: 'Review it',
  },
} as const

/** Rounds an estimate to its precision. */
function roughly(ms: number): number {
  const step = ms < 60_000 ? 5000 : ms < 10 * 60_000 ? 10_000 : 60_000
  return Math.max(step, Math.round(ms / step) * step)
}

import fc from 'fast-check'
import { secret, sha256Hex } from '../../src/core/kit/index.ts'
import { abortRollout, createEmergency, pauseRollout, resumeRollout, startRollout } from '../../src/daemon/rollouts/testing.ts'
import { anAdmin, anOrder, approvalToken } from './emergencies.ts'
import {
  expire,
  happening,
  killed,
  late,
  meanwhileOf,
  often,
  pause,
  progress,
  resume,
  rollbackOrder,
  take,
  tick,
  time,
  together,
  work,
} from './rollout-happenings.ts'
import { type RolloutSubject, refusalOf } from './rollout-model.ts'

// Emergencies beside a staged rollout in any state: to its version, to an older fixed one, and to a newer one.

async function make({ world, emergencies }: RolloutSubject, toChatServer: string): Promise<void> {
  const deps = { ...world.deps, approvalTokenSha256: sha256Hex(approvalToken) }
  const { reason, triggeredBy } = anOrder
  const { id } = await createEmergency(deps, anAdmin, {
    order: { reason, triggeredBy, toChatServer },
    unknownFields: 0,
    approvalToken: secret(approvalToken),
  })
  emergencies.push(id)
}

const last = ({ emergencies }: RolloutSubject): string => emergencies.at(-1) ?? 'cve-20260101-none0000'
const begin = ({ world, emergencies }: RolloutSubject, id = emergencies.at(-1)) =>
  refusalOf(() => startRollout(world.deps, anAdmin, { id: id ?? 'cve-20260101-none0000', skipRefused: true }))

/** Max emergencies of a year. */
const most = 3
const aVersion = fc.constantFrom('1.160.0', '1.163.2', '1.163.2', '1.163.4')

const made = aVersion.map((version) =>
  happening(`an emergency is made to ${version}`, async (_, subject) => {
    if (subject.emergencies.length < most) await make(subject, version)
  }),
)
const begun = fc.nat(most - 1).map((nth) => happening(`emergency ${nth} begins`, (_, subject) => begin(subject, subject.emergencies[nth])))
const both = aVersion.map((version) =>
  happening(`an emergency is made to ${version} and begins`, async (_, subject) => {
    if (subject.emergencies.length < most) await make(subject, version)
    await begin(subject)
  }),
)

const ofIts = fc.constantFrom('pause', 'resume', 'resume', 'abort', 'roll back', 'end').map((what) =>
  happening(`${what} the emergency`, (_, subject) => {
    const [{ deps }, id] = [subject.world, last(subject)]
    const words: Record<string, () => Promise<unknown>> = {
      pause: () => pauseRollout(deps, anAdmin, { id, reason: 'one moment' }),
      resume: () => resumeRollout(deps, anAdmin, { id, skipFailed: true }),
      abort: () => abortRollout(deps, anAdmin, { id }),
      'roll back': () => subject.world.rollBack(id, 'images', { skipRefused: true }),
      end: () => subject.world.rollBack(id, 'none'),
    }
    return refusalOf(words[what] as () => Promise<unknown>)
  }),
)

/** For several rounds all agent work succeeds. */
const allWell = fc.constantFrom(2, 5, 9, 30).map((turns) =>
  happening(`all goes well for ${turns} turns`, async (_, { world, work }) => {
    for (let turn = 0; turn < turns; turn++) {
      await world.tick()
      for (const command of await world.open()) await work(command, 'commits')
    }
  }),
)
const boxesBack = fc
  .constantFrom('images' as const, 'images' as const, 'snapshot' as const)
  .map((mode) => happening(`boxes back by ${mode}`, (_, { world, id }) => refusalOf(() => world.rollBack(id, mode, { skipRefused: true }))))

/** An operator releases the hold of a box whose host is offline, during the pull or the preflight. */
const released = fc.nat(7).map((nth) =>
  happening(`the hold ${nth} is released`, async (_, { world }) => {
    const open = (await world.open()).filter(({ kind }) => kind === 'tenant-box.prefetch' || kind === 'tenant-box.report_versions')
    const command = open[nth % Math.max(1, open.length)]
    if (command) await world.deps.db.deleteFrom('box_holds').where('box_id', '=', command.boxId).execute()
  }),
)

const meanwhile = meanwhileOf({
  begin: (subject) => begin(subject),
  abort: ({ world: { deps }, emergencies }) => abortRollout(deps, anAdmin, { id: emergencies.at(-1) ?? '' }),
  'roll back': ({ world, id }) => world.rollBack(id, 'images', { skipRefused: true }),
  resume: ({ world: { deps }, id }) => resumeRollout(deps, anAdmin, { id, skipFailed: true }),
})

export const besideEmergencies = [
  ...often(6, tick),
  ...often(8, work),
  ...often(4, meanwhile),
  ...[together, take, take, progress, expire, late, killed, time, time, pause],
  ...[resume, resume, boxesBack, boxesBack, rollbackOrder, rollbackOrder, rollbackOrder],
  ...[made, begun, begun, both, both, ofIts, ofIts, released, released],
  ...often(4, allWell),
]

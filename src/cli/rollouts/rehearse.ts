import type { RehearsalRequest } from '../../core/rollouts/index.ts'
import { command, count, many, oneOf, share } from '../kit/index.ts'
import { allowLongFence, ignoreWindows } from './plan.ts'
import { rehearsalView } from './rehearsal.view.ts'
import { fenceModes } from './words.ts'

export const rehearse = command(
  'rehearse',
  'Play a rollout through on a simulated copy of the fleet: how long it takes, how long each chat is away, what would stop it',
  {
    target: many('--target <slugs>', 'only these boxes (commas, or several times)'),
    allowLongFence,
    ignoreWindows,
    fenceMode: oneOf('--fence-mode <mode>', 'when chats open again, as for create', fenceModes),
    failureThreshold: count('--failure-threshold <count>', 'failed boxes after which a phase takes no new ones (default: 1)'),
    seed: count('--seed <number>', 'draw anew: the same seed gives the same result (default: 1)', 0),
    runs: count('--runs <count>', 'play it so many times, at most 9, each drawn anew, and show the middle'),
    fail: many('--fail <slugs>', 'boxes that do not prove healthy on the new version'),
    failRate: share('--fail-rate <share>', 'so many boxes do not prove healthy'),
    pullFail: many('--pull-fail <slugs>', 'boxes whose pull breaks off'),
    pullFailRate: share('--pull-fail-rate <share>', 'so many pulls break off'),
    slowPullRate: share('--slow-pull-rate <share>', 'so many pulls take a quarter of an hour longer'),
    offline: many('--offline <hosts>', 'hosts that are gone when they are needed'),
    offlineRate: share('--offline-rate <share>', 'so many hosts are gone'),
  },
  async ({ api, progress, signal }, options) => {
    const playing = await progress('playing the rollout through')
    try {
      const played = await api.rollouts.rehearseRollout({ body: wantedOf(options) }, { signal })
      playing.stop()
      return played
    } catch (error) {
      playing.stop()
      throw error
    }
  },
  rehearsalView,
  { examples: ['rehearse', 'rehearse --fail anna-schule', 'rehearse --fail-rate 0.02 --offline host-3 --seed 7 --runs 5'] },
)

type Shares = 'failureThreshold' | 'seed' | 'runs' | 'failRate' | 'pullFailRate' | 'slowPullRate' | 'offlineRate'
type Options = Readonly<Record<'target' | 'fail' | 'pullFail' | 'offline', readonly string[]>> &
  Readonly<Record<Shares, number | undefined>> &
  Readonly<{ allowLongFence: boolean; ignoreWindows: boolean; fenceMode: RehearsalRequest['fenceMode'] | undefined }>

function wantedOf({ target, fail, pullFail, offline, failRate, pullFailRate, slowPullRate, offlineRate, ...wanted }: Options) {
  return {
    ...wanted,
    ...(target.length > 0 ? { targetSlugs: [...target] } : {}),
    faults: {
      ...{ probeFailRate: failRate, pullFailRate, slowPullRate, offlineRate },
      ...{ failProbes: [...fail], failPulls: [...pullFail], offlineHosts: [...offline] },
    },
  }
}

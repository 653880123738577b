import { duration, plural } from '../core/kit/index.ts'
import { phaseOrder, type RolloutReport } from '../core/rollouts/index.ts'
import { packageRoot } from '../node/index.ts'
import { after, before, type Fleet } from './fleet.ts'

/** Introduces the demo and its three words. */
export const opening = (fleet: Fleet): string => `Tenantry demo: ${introduction(fleet)}

  box      the chat server, database and object store of one tenant
  canary   the box that is updated first; its failure stops the rollout before any other box is touched
  fence    maintenance: users get an error page while their box is updated
`

const introduction = ({ simulated, boxes, hosts, unlucky }: Fleet): string =>
  simulated
    ? `${plural(boxes.length, 'simulated box', 'simulated boxes')} on ${hosts.length} hosts. A simulated update takes seconds, a real one minutes.
Simulated boxes have no chat server: users, boards and the marketplace need \`npm run demo -- --docker\`.`
    : `${plural(boxes.length, 'real box', 'real boxes')} on the Docker engine of this machine. The new image of ${unlucky} exits at its start.`

type Seen = Readonly<{
  fleet: Pick<Fleet, 'boxes' | 'unlucky'>
  rollout: Pick<RolloutReport['rollout'], 'status' | 'counts'>
  restoredInMs: number | null
}> &
  Pick<RolloutReport, 'fence' | 'phases'>

/** Sums the rollout up, with the measured durations. */
export function closing({ fleet: { boxes, unlucky }, rollout, fence, phases, restoredInMs }: Seen): string {
  const { status, counts } = rollout
  if (status !== 'paused')
    return `\n${isPhase(status) ? `The rollout continues with phase ${status}` : `The rollout is ${status}`}; ${counts.succeeded} of ${plural(boxes.length, 'box is', 'boxes are')} updated.`
  const left = boxes.length - counts.succeeded - 1
  return `
What you saw:
  canary     one box first, then ${plural(phases.filter(({ boxes }) => boxes > 0).length - 1, 'further phase')}: ${plural(counts.succeeded, 'box', 'boxes')} went from Synapse ${before} to ${after}
  fence      ${fence ? `each box was in maintenance for about ${duration(fence.medianMs)} (${fence.worstSlug}: ${duration(fence.worstMs)})` : 'none'}
  rollback   ${unlucky} failed its health checks on ${after}; its agent restored ${before}${restoredInMs === null ? '' : ` in ${duration(restoredInMs)}`}, with no data lost
  pause      the rollout stopped there${left === 0 ? '' : `: ${plural(left, 'box', 'boxes')} of the last phase still ${left === 1 ? 'runs' : 'run'} ${before}`}`
}

const isPhase = (status: string): boolean => (phaseOrder.staged as readonly string[]).includes(status)

type Access = Readonly<{ url: string; token: string; id: string; unlucky: string; consoleLink: string; password: string }>

/** Commands for another terminal. `npx tenantry` would build the project first. */
export const commands = ({ url, token, id, unlucky, consoleLink, password }: Access): string => `
You are the operator now. Open the web console (the link works once, for 10 minutes):

  ${consoleLink}
  afterwards: ${url}/console, name demo, password ${password}

Or run in another terminal:

  alias tenantry="node '${packageRoot('bin/tenantry.js')}'"
  export TENANTRY_URL=${url}
  export TENANTRY_TOKEN=${token}

  tenantry rollouts show ${id} --box ${unlucky}
  tenantry rollouts rehearse --fail ${unlucky}
  tenantry rollouts resume ${id} --skip-failed
  tenantry rollouts watch ${id}
  tenantry boxes list
  tenantry audit verify
`

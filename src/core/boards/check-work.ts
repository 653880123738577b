import { type CheckContext, titled } from './check-graph.ts'
import { type BoardDefinition, boundRole, isWork, momentOf, type WorkElement, workerRole } from './definition.ts'
import { type BoardFinding, error } from './finding.ts'
import { declaredVariables } from './variables.ts'

/** Work that no user could do, whose times mean nothing, or that shows the values of a run to too many users. */
export function checkWork(board: BoardDefinition, context: CheckContext): BoardFinding[] {
  const hasValues = declaredVariables(board).size > 0
  return [
    ...board.elements.flatMap((element) => {
      const when = isWork(element) ? element.config.dueAt : element.kind === 'timer' ? element.config.until : undefined
      const passed = when === undefined ? [] : passedTime(element.id, { name: titled(element), when, now: context.now })
      if (!isWork(element)) return passed
      return [
        ...passed,
        ...missingStarter(board, element),
        ...neverOverdue(board, element),
        ...(hasValues ? readByMany(board, element, context.unlistedRoles) : []),
      ]
    }),
  ]
}

/** A message has a sender, who started the run; an event and a time have none. */
function missingStarter({ triggers }: BoardDefinition, element: WorkElement): BoardFinding[] {
  const trigger = triggers.find(({ kind }) => kind === 'event' || kind === 'cron')
  if (element.config.assignedRole !== undefined || !trigger) return []
  const message = `${titled(element)} is for the user who started the run, but runs of the trigger ${trigger.id} have none. fix: use assignedRole`
  return [error('STARTER_MISSING', element.id, message)]
}

const neverOverdue = ({ sla }: BoardDefinition, element: WorkElement): BoardFinding[] =>
  element.config.escalationRole === undefined || element.config.dueAt !== undefined || sla !== null
    ? []
    : [
        warning(
          'ESCALATION_NEVER',
          element.id,
          `${titled(element)} has an escalationRole, but neither dueAt nor an sla of the board, so it is never overdue. fix: set dueAt`,
        ),
      ]

/** Holders of a role that is not listed, such as parents, do not know each other; a role of an element makes them all readers of the run. */
function readByMany(board: BoardDefinition, element: WorkElement, unlisted: ReadonlySet<string> = new Set()): BoardFinding[] {
  const { escalationRole } = element.config
  const roles = [workerRole(board, element.config), escalationRole === undefined ? null : boundRole(board, escalationRole)]
  return [...new Set(roles)]
    .filter((role) => role != null && unlisted.has(role))
    .map((role) =>
      warning(
        'ROLE_READS_RUN',
        element.id,
        `${titled(element)} lets every user with the role ${role} read all values of the run. fix: use assignedTo: starter, or a listed role`,
      ),
    )
}

type Timed = Readonly<{ name: string; when: string; now: Date | undefined }>

function passedTime(elementId: string, { name, when, now }: Timed): BoardFinding[] {
  const moment = momentOf(when)
  if (moment === undefined || now === undefined || moment > now.getTime()) return []
  return [warning('TIME_PASSED', elementId, `${name} waits until ${when}, which has passed. fix: use a duration such as P2D`)]
}

const warning = (code: string, elementId: string, message: string): BoardFinding => ({ severity: 'warning', code, elementId, message })

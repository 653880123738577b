import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { isProblem, type ProblemCode } from '../../core/kit/index.ts'
import { movedImages, type RolloutDetail, type RolloutPlan } from '../../core/rollouts/index.ts'
import { ActionDialog, api, Button, CliLine, Field, KeyValues, Link, ProblemView, quoted, Section, Status } from '../kit/index.ts'
import { createOpen } from './create-open.ts'
import { refreshRollouts } from './dialog-frame.tsx'
import { type Order, targetNames } from './emergency-order.ts'
import { factsOf } from './emergency-preview.tsx'
import { emergencyWords as text } from './emergency-words.ts'
import { maxOf, movingIn } from './plan-words.ts'
import { words } from './words.ts'

const { act } = words

/** More would lock the account. */
const maxTries = 3

type ConfirmProps = Readonly<{
  order: Order
  plan: RolloutPlan
  /** Why none can be created. */
  why: string | undefined
  onBack(): void
  onMade(made: RolloutDetail): void
}>

/** The third step. Only here something is sent, and only with the id typed and a token. */
export function Confirm({ order: input, plan, why, onBack, onMade }: ConfirmProps) {
  const [typed, setTyped] = useState('')
  const [token, setToken] = useState('')
  const [tries, setTries] = useState(0)
  const { cveId, reason, triggeredBy, targets } = input
  const create = useMutation({
    mutationFn: () => createOpen(() => api.rollouts.createEmergency({ body: { reason, triggeredBy, ...targets, approvalToken: token } })),
    onSuccess: onMade,
    onError: (error) => {
      if (isProblem(error, tokenRefused)) setTries(tries + 1)
      setToken('')
    },
  })
  const isReady = typed.trim().toUpperCase() === cveId && token !== '' && tries < maxTries && !create.isPending
  return (
    <Section title={text.steps[2]}>
      <KeyValues facts={factsOf(input, plan)} />
      <p>{text.totals(plan, maxOf(movingIn(plan), 'worstFenceMs'))}</p>
      {/* No form: the key Enter must not send it. */}
      <div className="emergency">
        <Field label={text.confirm(cveId)} value={typed} onChange={setTyped} autoFocus />
        <Field
          label={text.token}
          hint={text.tokenHint}
          error={tries > 0 && token === '' ? text.wrongToken(maxTries - tries) : undefined}
          value={token}
          onChange={setToken}
          type="password"
          autoComplete="off"
        />
        {create.isError && !isProblem(create.error, tokenRefused) && <ProblemView error={create.error} />}
        <CliLine>{`tenantry rollouts emergency --cve ${cveId} --reason ${quoted(reason)}${targetFlags(input)} --triggered-by ${quoted(triggeredBy)}`}</CliLine>
        <p className="buttons">
          <Button onPress={onBack} isDisabled={create.isPending}>
            {text.back}
          </Button>
          <Button look="danger" why={why} isDisabled={!isReady} onPress={() => create.mutate()}>
            {create.isPending ? `${text.send}…` : text.send}
          </Button>
        </p>
      </div>
    </Section>
  )
}

/** The daemon's answer to a wrong approval token. */
const tokenRefused: ProblemCode = 'AUTH'

const flags = {
  toChatServer: '--to-chat-server',
  toDatabase: '--to-database',
  toObjectStore: '--to-object-store',
  toMigrationsHead: '--to-migrations-head',
} as const

const targetFlags = ({ targets }: Order): string =>
  targetNames.flatMap((name) => (targets[name] ? [` ${flags[name]} ${targets[name]}`] : [])).join('')

/** The last step: it is created and queued; starting it asks again. */
export function Made({ made, seen }: Readonly<{ made: RolloutDetail; seen: RolloutPlan }>) {
  const navigate = useNavigate()
  const [starting, setStarting] = useState(false)
  const isChanged = movedImages(seen, made.plan).length > 0 || made.manifestRevision !== seen.manifestRevision
  const { refusals } = made.plan
  return (
    <Section title={text.steps[3]}>
      <p>
        <Status tone="waiting">{made.id}</Status> {text.sent}
      </p>
      {isChanged && (
        <p>
          <Status tone="failed">{text.changed}</Status>
        </p>
      )}
      <p className="buttons">
        <Link to={`/rollouts/${made.id}`} className="button">
          {text.see}
        </Link>
        <Button look="primary" onPress={() => setStarting(true)}>
          {`${refusals > 0 ? text.startWithout(refusals) : text.start}…`}
        </Button>
      </p>
      {starting && (
        <ActionDialog
          title={act.startTitle(made.id)}
          confirm={act.start}
          danger
          consequence={
            <p>
              {text.totals(made.plan, maxOf(movingIn(made.plan), 'worstFenceMs'))}
              {made.plan.pauses && made.plan.pauses.length > 0 ? ` ${act.pauses(made.plan.pauses)}` : ''}
            </p>
          }
          cli={() => `tenantry rollouts start ${made.id}${refusals > 0 ? ' --skip-refused' : ''} --watch`}
          run={async () => {
            await api.rollouts.startRollout({ params: { id: made.id }, body: { skipRefused: refusals > 0 } })
            await refreshRollouts(made.id)
            void navigate({ to: `/rollouts/${made.id}` })
          }}
          onClose={() => setStarting(false)}
        />
      )}
    </Section>
  )
}

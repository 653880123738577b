import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { type DrillResult, provenDrill, type RestoreResult } from '../../core/boxes/index.ts'
import type { CommandView } from '../../core/hosts/index.ts'
import { Button, CliLine, Elapsed, Link, queryClient, Status, type Tone } from '../kit/index.ts'
import { commandQuery, isEnded } from './queries.ts'
import { words } from './words.ts'

export type Started = Readonly<{ commandId: string; slug: string; kind: 'take' | 'drill' | 'restore' }>

/** A command that was started here, until it ends and is dismissed. */
export function CommandLine({ started: { commandId, slug, kind }, onDismiss }: Readonly<{ started: Started; onDismiss(): void }>) {
  const query = useQuery(commandQuery(commandId))
  const command = query.data
  const ended = command !== undefined && isEnded(command)
  useEffect(() => {
    if (ended) void queryClient.invalidateQueries({ queryKey: ['snapshots'] })
  }, [ended])
  const [tone, text] = command ? outcomeOf(command, kind) : (['working', ''] as const)
  return (
    <li>
      <Status tone={tone}>{words.commandWords[kind]}</Status>
      <Link to={`/snapshots?slug=${slug}`}>{slug}</Link>
      <span className="grow" role="status">
        {text}
      </span>
      {command && <Elapsed since={command.createdAt} until={command.finishedAt} />}
      {ended ? (
        <Button look="quiet" onPress={onDismiss}>
          {words.dismiss}
        </Button>
      ) : (
        <CliLine>{`tenantry boxes follow ${slug}`}</CliLine>
      )}
    </li>
  )
}

function outcomeOf(command: CommandView, kind: Started['kind']): readonly [Tone, string] {
  const { status, error, result, hostName, hostStatus, progress } = command
  if (status === 'expired' || status === 'failed') return ['failed', error ? `${error.message} [${error.code}]` : words.noAnswer]
  if (status === 'succeeded') return resultOf(result, kind)
  if (hostStatus !== 'online') return ['waiting', words.offlineHost(hostName, hostStatus)]
  const last = progress.at(-1)
  if (!last) return ['working', status === 'queued' ? words.queued(hostName) : words.running(hostName)]
  return ['working', [last.step, last.detail].filter(Boolean).join(': ')]
}

function resultOf(result: unknown, kind: Started['kind']): readonly [Tone, string] {
  if (kind === 'take') return ['ok', words.taken]
  if (kind === 'drill') {
    const drill = provenDrill(result as DrillResult)
    const { ok, error } = drill
    return ok ? ['ok', words.drilled(drill)] : ['failed', error ? `${error.message} [${error.code}]` : words.noAnswer]
  }
  const { outcome, error } = result as RestoreResult
  return [
    outcome === 'restored' ? 'ok' : 'failed',
    [words.restored[outcome], error && `${error.message} [${error.code}]`].filter(Boolean).join(': '),
  ]
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type BoxImport, lifecycleQuestions, writtenText } from '../../core/boxes/index.ts'
import { ActionDialog, api, Button, Check, Loading, ProblemView, queryClient, quoted, useMay } from '../kit/index.ts'
import { presentAnswer } from './asked-once.ts'
import { importStateQuery } from './queries.ts'
import { words } from './words.ts'

type OfImport = Readonly<{ slug: string; one: BoxImport }>

/** The return to the stack of an imported box, and the end of that path. */
export function ImportActions({ slug, one }: OfImport) {
  const [opened, setOpened] = useState<'undo' | 'finish'>()
  const [undo, finish] = [useMay('boxes', 'undoImport').why, useMay('boxes', 'finishImport').why]
  if (one.state !== 'imported') return null
  const close = () => setOpened(undefined)
  return (
    <>
      <Button why={undo} onPress={() => setOpened('undo')}>
        {words.undoImport}
      </Button>
      <Button why={finish} onPress={() => setOpened('finish')}>
        {words.finishImport}
      </Button>
      {opened === 'undo' && <UndoDialog slug={slug} one={one} onClose={close} />}
      {opened === 'finish' && <FinishDialog slug={slug} one={one} onClose={close} />}
    </>
  )
}

type InDialog = OfImport & Readonly<{ onClose(): void }>

/** The agent reads it once, when the dialog opens. */
function useImportState({ slug, one }: OfImport) {
  const query = useQuery(importStateQuery(slug, one.importId))
  return { state: presentAnswer(query), view: <StateOf query={query} /> }
}

const StateOf = ({ query }: Readonly<{ query: { isFetching: boolean; error: Error | null; refetch(): unknown } }>) => (
  <>
    {query.isFetching && <Loading rows={1} label={words.readingStack} />}
    {!query.isFetching && query.error && <ProblemView error={query.error} onRetry={() => void query.refetch()} />}
  </>
)

function UndoDialog({ slug, one, onClose }: InDialog) {
  const { state, view } = useImportState({ slug, one })
  return (
    <ActionDialog
      title={lifecycleQuestions.undoImport(slug, one.project)}
      consequence={
        <>
          <p>{words.undoImportEffect}</p>
          {state && <p className="tone-failed">{words.writtenSince(writtenText(state.written))}</p>}
        </>
      }
      confirm={words.undoImportConfirm}
      danger
      reason="required"
      isComplete={state !== undefined}
      cli={({ reason }) => `tenantry boxes import ${slug} --undo --reason ${quoted(reason)}`}
      run={({ reason }) => refresh(api.boxes.undoImport({ params: { slug }, body: { reason } }))}
      onClose={onClose}
    >
      {view}
    </ActionDialog>
  )
}

function FinishDialog({ slug, one, onClose }: InDialog) {
  const [volumes, setVolumes] = useState(false)
  const { state, view } = useImportState({ slug, one })
  return (
    <ActionDialog
      title={words.finishImportTitle(slug)}
      consequence={
        <>
          <p>{words.finishImportEffect}</p>
          {state && <p>{words.removedContainers(state.stack.containers)}</p>}
        </>
      }
      confirm={words.finishImportConfirm}
      danger
      reason="required"
      isComplete={state !== undefined}
      cli={({ reason }) => `tenantry boxes import ${slug} --finish${volumes ? ' --volumes' : ''} --reason ${quoted(reason)} --yes`}
      run={({ reason }) => refresh(api.boxes.finishImport({ params: { slug }, body: { reason, volumes } }))}
      onClose={onClose}
    >
      {view}
      {state && state.stack.volumes.length > 0 && (
        <Check isSelected={volumes} onChange={setVolumes}>
          {words.stackVolumes(state.stack.volumes)}
        </Check>
      )}
    </ActionDialog>
  )
}

const refresh = async (work: Promise<unknown>): Promise<void> => {
  await work
  await queryClient.invalidateQueries({ queryKey: ['boxes'] })
}

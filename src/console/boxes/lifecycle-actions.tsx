import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type BoxDetail, type BoxMove, type BoxRemoval, lifecycleQuestions } from '../../core/boxes/index.ts'
import { hostsQuery } from '../hosts/index.ts'
import { ActionDialog, api, Button, Check, queryClient, quoted, useMay, usePaletteAction } from '../kit/index.ts'
import { awaitCommand } from './await-command.ts'
import { whyNotMoved } from './commands.ts'
import { MoveDialog, RemoveDialog } from './move-dialog.tsx'
import { words } from './words.ts'

const refresh = async (work: Promise<unknown>): Promise<void> => {
  await work
  await queryClient.invalidateQueries({ queryKey: ['boxes'] })
}

/** The buttons that move and remove a box. A removed box has its own, beside its removal. */
export function LifecycleActions({ box }: Readonly<{ box: BoxDetail }>) {
  const [opened, setOpened] = useState<'again' | 'move' | 'remove'>()
  const [move, remove] = [useMay('boxes', 'moveBox').why ?? whyNotMoved(box), useMay('boxes', 'removeBox').why]
  const again = useMay('boxes', 'adoptAgain').why
  const isThere = box.status !== 'removed'
  usePaletteAction({
    move: move || !isThere ? undefined : () => setOpened('move'),
    remove: remove || !isThere ? undefined : () => setOpened('remove'),
  })
  if (!isThere) return null
  const close = () => setOpened(undefined)
  return (
    <>
      {box.live && (box.freshness === 'stale' || box.freshness === 'never') && (
        <Button why={again} onPress={() => setOpened('again')}>
          {words.adoptAgain}
        </Button>
      )}
      <Button why={move} onPress={() => setOpened('move')}>
        {words.moveBox}
      </Button>
      <Button why={remove} onPress={() => setOpened('remove')}>
        {words.removeBox}
      </Button>
      {opened === 'again' && (
        <ActionDialog
          title={words.adoptAgainTitle(box.slug)}
          consequence={<p>{words.adoptAgainEffect(box.host)}</p>}
          confirm={words.adoptAgainConfirm}
          cli={() => `tenantry boxes adopt ${box.slug} --again`}
          run={() =>
            refresh(api.boxes.adoptAgain({ params: { slug: box.slug }, body: {} }).then(({ commandId }) => awaitCommand(commandId)))
          }
          onClose={close}
        />
      )}
      {opened === 'move' && <MoveDialog box={box} onClose={close} />}
      {opened === 'remove' && <RemoveDialog box={box} onClose={close} />}
    </>
  )
}

type OfMove = Readonly<{ slug: string; move: BoxMove }>

/** The steps that an operator may take with a move in its state. */
export function MoveActions({ slug, move }: OfMove) {
  const [opened, setOpened] = useState<'confirm' | 'back'>()
  const [confirm, back] = [useMay('boxes', 'confirmMove').why, useMay('boxes', 'giveBackBox').why]
  const close = () => setOpened(undefined)
  return (
    <>
      {move.state === 'confirming' && (
        <Button why={confirm} onPress={() => setOpened('confirm')}>
          {words.confirmMove(move.from)}
        </Button>
      )}
      {(move.state === 'taking_over' || move.state === 'stranded') && (
        <Button why={back} onPress={() => setOpened('back')}>
          {words.moveBack(move.from)}
        </Button>
      )}
      {opened === 'confirm' && (
        <ActionDialog
          title={lifecycleQuestions.confirmMove(slug)}
          consequence={<p>{words.confirmMoveEffect(slug)}</p>}
          confirm="Delete the copy"
          danger
          cli={() => `tenantry boxes move ${slug} --confirm`}
          run={() => refresh(api.boxes.confirmMove({ params: { slug } }))}
          onClose={close}
        />
      )}
      {opened === 'back' && <MoveBackDialog slug={slug} move={move} onClose={close} />}
    </>
  )
}

function MoveBackDialog({ slug, move: { from, to, mayRunOnNewHost }, onClose }: OfMove & Readonly<{ onClose(): void }>) {
  const [isDead, setDead] = useState(false)
  const [isStopped, setStopped] = useState(false)
  const isAway = useQuery(hostsQuery).data?.hosts.find(({ name }) => name === to)?.status !== 'online'
  return (
    <ActionDialog
      title={lifecycleQuestions.moveBack(slug)}
      consequence={<p>{words.moveBackEffect(from)}</p>}
      confirm="Revert the move"
      danger
      {...(isDead ? { typed: to } : {})}
      isComplete={!mayRunOnNewHost || isStopped}
      cli={() =>
        `tenantry boxes move ${slug} --back${isDead ? ` --new-host-is-dead ${to}` : ''}${isStopped ? ' --stopped-on-new-host' : ''}`
      }
      run={() =>
        refresh(
          api.boxes.giveBackBox({
            params: { slug },
            body: { ...(isDead ? { newHostIsDead: to } : {}), ...(isStopped ? { stoppedOnNewHost: true } : {}) },
          }),
        )
      }
      onClose={onClose}
    >
      {isAway && (
        <Check isSelected={isDead} onChange={setDead}>
          {words.newHostIsDead(to)}
        </Check>
      )}
      {mayRunOnNewHost && (
        <Check isSelected={isStopped} onChange={setStopped}>
          {words.stoppedOnNewHost(slug, to)}
        </Check>
      )}
    </ActionDialog>
  )
}

/** Restores a removed box, or erases its data before they expire. */
export function RemovalActions({ slug, removal: { state } }: Readonly<{ slug: string; removal: BoxRemoval }>) {
  const [opened, setOpened] = useState<'undo' | 'erase'>()
  const [undo, erase] = [useMay('boxes', 'undoRemoval').why, useMay('boxes', 'removeBox').why]
  if (state !== 'kept') return null
  const close = () => setOpened(undefined)
  return (
    <>
      <Button why={undo} onPress={() => setOpened('undo')}>
        {words.undoRemoval}
      </Button>
      <Button why={erase} onPress={() => setOpened('erase')}>
        {words.erase}
      </Button>
      {opened === 'undo' && (
        <ActionDialog
          title={lifecycleQuestions.undoRemoval(slug)}
          consequence={<p>{words.undoRemovalEffect}</p>}
          confirm="Restore the box"
          cli={() => `tenantry boxes remove ${slug} --undo`}
          run={() => refresh(api.boxes.undoRemoval({ params: { slug } }))}
          onClose={close}
        />
      )}
      {opened === 'erase' && (
        <ActionDialog
          title={words.eraseTitle(slug)}
          consequence={<p className="tone-failed">{words.eraseEffect}</p>}
          confirm="Erase the data"
          danger
          reason="required"
          typed={slug}
          cli={({ reason }) => `tenantry boxes remove ${slug} --now --reason ${quoted(reason)}`}
          run={({ reason }) => refresh(api.boxes.removeBox({ params: { slug }, body: { confirm: slug, reason, now: true } }))}
          onClose={close}
        />
      )}
    </>
  )
}

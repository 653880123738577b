import { type ReactNode, useState } from 'react'
import { Dialog, Form, Heading, Input, Label, Modal, ModalOverlay, TextArea, TextField } from 'react-aria-components'
import { reasonLength } from '../../core/kit/index.ts'
import { Button, CliLine } from './controls.tsx'
import { ProblemView } from './states.tsx'
import { useKitTexts } from './texts.tsx'

export type ActionInput = Readonly<{ reason: string }>

type ActionDialogProps = Readonly<{
  /** `Pause rollout ro_…?` */
  title: string
  /** The effect: what happens, what is away for how long, what is lost, and what this does not do. */
  consequence: ReactNode
  /** More fields of the form. */
  children?: ReactNode
  /** Where the audit log wants one. */
  reason?: 'required' | 'optional'
  /** A text to type before the button works, for what cannot be taken back. */
  typed?: string
  confirm: string
  danger?: boolean
  /** The command that does the same. */
  cli?: (input: ActionInput) => string
  /** Throws a Problem, which the dialog shows; it stays open with what was typed. */
  run(input: ActionInput): Promise<unknown>
  onClose(): void
  /** False while the fields of `children` are incomplete. */
  isComplete?: boolean
}>

/** Asks before an action: its consequence in words, a reason, and its command. Rendered only while it is open. */
export function ActionDialog(props: ActionDialogProps) {
  const { run, onClose } = props
  const texts = useKitTexts()
  const [reason, setReason] = useState('')
  const [answer, setAnswer] = useState('')
  const [{ asked, error }, setState] = useState<Readonly<{ asked?: ActionDialogProps; error?: unknown }>>({})
  const isBusy = asked !== undefined
  // The action changes what the page shows behind the dialog, which would then ask for the opposite while it closes.
  const { title, consequence, children, reason: wants, typed, confirm, danger = false, cli, isComplete = true } = asked ?? props
  const isReady =
    isComplete && !isBusy && (wants !== 'required' || reason.trim().length >= reasonLength.min) && (!typed || answer === typed)
  const submit = async () => {
    if (!isReady) return
    setState({ asked: props })
    try {
      await run({ reason: reason.trim() })
      onClose()
    } catch (error) {
      setState({ error })
    }
  }
  return (
    <ModalOverlay className="overlay" isOpen isDismissable={!isBusy} onOpenChange={(open) => !open && onClose()}>
      <Modal className="modal">
        <Dialog className="dialog" role="alertdialog">
          <Heading slot="title">{title}</Heading>
          <Form
            onSubmit={(event) => {
              event.preventDefault()
              void submit()
            }}
          >
            <div className="consequence">{consequence}</div>
            {children}
            {wants && (
              <TextField
                className="field"
                value={reason}
                onChange={setReason}
                isRequired={wants === 'required'}
                maxLength={reasonLength.max}
                autoFocus
              >
                <Label>{wants === 'optional' ? texts.optionalReason : texts.reason}</Label>
                <TextArea rows={2} />
              </TextField>
            )}
            {typed && (
              <TextField className="field" value={answer} onChange={setAnswer} autoComplete="off">
                <Label>
                  {texts.confirm[0]}
                  <code>{typed}</code>
                  {texts.confirm[1]}
                </Label>
                <Input />
              </TextField>
            )}
            {error !== undefined && <ProblemView error={error} />}
            {cli && <CliLine>{cli({ reason: reason.trim() || '…' })}</CliLine>}
            <div className="dialog-actions">
              <Button onPress={onClose} isDisabled={isBusy}>
                {texts.cancel}
              </Button>
              <Button type="submit" look={danger ? 'danger' : 'primary'} isDisabled={!isReady}>
                {isBusy ? `${confirm}…` : confirm}
              </Button>
            </div>
          </Form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

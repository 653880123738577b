import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { Button, paletteKey } from './kit/index.ts'

const keys = [
  [paletteKey, 'Go to a page, box or tenant'],
  ['/', 'Filter the list'],
  ['j  k  ↓  ↑', 'Next and previous row of a list'],
  ['Home  End', 'First and last row'],
  ['Enter', 'Open the row'],
  ['g o', 'Overview'],
  ['g b', 'Boxes'],
  ['g m', 'Manifest'],
  ['g r', 'Rollouts'],
  ['g a', 'Alerts'],
  ['?', 'This help'],
  ['Esc', 'Close'],
] as const

/** The keys of every page. */
// biome-ignore lint/style/noDefaultExport: React loads it when it is first opened
export default function Help({ onClose }: Readonly<{ onClose(): void }>) {
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">Keys</Heading>
          <dl className="keys">
            {keys.map(([key, effect]) => (
              <div key={key}>
                <dt>
                  <span className="kbd">{key}</span>
                </dt>
                <dd>{effect}</dd>
              </div>
            ))}
          </dl>
          <div className="dialog-actions">
            <Button onPress={onClose} autoFocus>
              Close
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

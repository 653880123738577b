import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { roleAtLeast } from '../core/contract/index.ts'
import { Button, navGroups, paletteKey, useRole } from './kit/index.ts'
import { menuOf } from './menu.ts'
import { features } from './pages.ts'

const keys = [
  [paletteKey, 'Go to a page, box or tenant, or do something'],
  ['/', 'Filter the list'],
  ['j  k', 'Next and previous row of the list'],
  ['↓  ↑', 'The same from row to row'],
  ['Home  End', 'First and last row'],
  ['Enter', 'Open the row'],
  ['?', 'This help'],
  ['Esc', 'Close'],
] as const

/** The keys of every page. */
// biome-ignore lint/style/noDefaultExport: React loads it when it is first opened
export default function Help({ onClose }: Readonly<{ onClose(): void }>) {
  const role = useRole()
  const pages = menuOf(features.flatMap(({ pages }) => pages))
    .filter((page) => roleAtLeast(role, page.role ?? 'viewer'))
    .toSorted(({ nav: a }, { nav: b }) => navGroups.indexOf(a.group) - navGroups.indexOf(b.group) || a.order - b.order)
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onClose()}>
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">Keys</Heading>
          <Keys keys={keys} />
          <h3>Pages</h3>
          <Keys keys={pages.map(({ letter, nav }) => [`g ${letter}`, nav.label])} />
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

const Keys = ({ keys }: Readonly<{ keys: readonly (readonly [key: string, effect: string])[] }>) => (
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
)

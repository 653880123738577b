import type { Node } from '@babel/types'

/** True for a node whose text `constantText` may find: `'a' + 'b'`, a template, `['a', 'b'].join('')`. */
export const mayBeText = ({ type }: Node): boolean =>
  type === 'StringLiteral' || type === 'TemplateLiteral' || type === 'BinaryExpression' || type === 'CallExpression'

/** Longer texts are none of the names that are searched for. */
const maxParts = 64

/** The text of an expression that is made of literals alone, else undefined. */
export function constantText(root: Node): string | undefined {
  const parts: string[] = []
  const left: Node[] = [root]
  for (let node = left.pop(); node !== undefined; node = left.pop()) {
    if (parts.length + left.length > maxParts) return undefined
    const inner = partsOf(node)
    if (inner === undefined) return undefined
    if (typeof inner === 'string') parts.push(inner)
    else left.push(...inner.reverse())
  }
  return parts.join('')
}

function partsOf(node: Node): string | Node[] | undefined {
  switch (node.type) {
    case 'StringLiteral':
      return node.value
    case 'TemplateElement':
      return node.value.cooked ?? undefined
    case 'ParenthesizedExpression':
      return [node.expression]
    case 'BinaryExpression':
      return node.operator === '+' ? [node.left, node.right] : undefined
    case 'TemplateLiteral':
      return node.quasis.flatMap((quasi, at): Node[] => [quasi, ...node.expressions.slice(at, at + 1)])
    case 'CallExpression':
      return joinedParts(node.callee, node.arguments)
    default:
      return undefined
  }
}

/** `['con', 'structor'].join('')` */
function joinedParts(callee: Node, [separator]: readonly Node[]): Node[] | undefined {
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'ArrayExpression') return undefined
  const isJoin = callee.property.type === 'Identifier' && callee.property.name === 'join'
  if (!isJoin || separator?.type !== 'StringLiteral' || separator.value !== '') return undefined
  const elements = callee.object.elements
  return elements.every((element) => element !== null) ? (elements as Node[]) : undefined
}

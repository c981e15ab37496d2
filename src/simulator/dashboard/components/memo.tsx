// Renders a component again only when one of its properties changed, as the memo of preact/compat does.
import { Component, type ComponentClass, type FunctionComponent } from 'preact';

// preact/compat adds 1.5 KB, and rewrites the properties of every element as React names them.
export function memo<Props extends object>(Inner: FunctionComponent<Props>): ComponentClass<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      // Hundreds of rows call this ten times a second, so it allocates nothing.
      for (const name in next) if (next[name] !== (this.props as Props)[name]) return true;
      for (const name in this.props) if (!(name in next)) return true;
      return false;
    }

    render(props: Props) {
      return <Inner {...props} />;
    }
  };
}

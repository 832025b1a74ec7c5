//! The corpora of the fuzz targets, replayed: what fuzzing once found stays found.

use std::path::Path;

#[test]
fn every_input_of_every_corpus_passes_its_check() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, check) in unbloat_fuzz_checks::ALL {
        let folder = corpora.join(name);
        let inputs: Vec<_> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(
            inputs.len() >= 10,
            "{} holds {} inputs",
            folder.display(),
            inputs.len()
        );
        for input in inputs {
            // The name of the input that panics is in the captured output.
            println!("{}", input.display());
            check(&std::fs::read(&input).unwrap());
        }
    }
}

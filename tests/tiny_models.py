"""Checkpoints that the tests make themselves: as small as they go, saved as any other model is."""

from __future__ import annotations

from pathlib import Path

WORDS = """rust review borrow checker endpoint security database migration postgres slow query index brand
voice tone rag retrieval rest api design error compile the a my is of to and for with how write"""


def save_tokenizer(folder: Path) -> int:
    """A lower-casing word tokenizer with XLM-R's special tokens; returns the size of its vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = {word: at for at, word in enumerate(dict.fromkeys([*special, *WORDS.split(), *letters]))}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", vocabulary["<s>"]), ("</s>", vocabulary["</s>"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        cls_token="<s>",
        sep_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=128,
    ).save_pretrained(folder)
    return len(vocabulary)


def save_cross_encoder(folder: Path, seed: int = 3, classes: int = 1) -> Path:
    """An XLM-R for sequence classification of the shape of bge-reranker-base, a thousand times smaller."""
    import torch
    from transformers import XLMRobertaConfig, XLMRobertaForSequenceClassification

    size = save_tokenizer(folder)
    torch.manual_seed(seed)
    config = XLMRobertaConfig(
        vocab_size=size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=130,
        num_labels=classes,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        initializer_range=0.6,
    )
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


def save_encoder(folder: Path, seed: int = 1) -> Path:
    """A sentence-transformers model: a tiny BERT with mean pooling."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    inner = folder.with_name(f"{folder.name}-inner")
    size = save_tokenizer(inner)
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=130,
        pad_token_id=1,
    )
    BertModel(config).save_pretrained(inner)
    words = Transformer(str(inner), max_seq_length=64)
    SentenceTransformer(modules=[words, Pooling(16, "mean")], device="cpu").save(str(folder))
    return folder
